// SPDX-License-Identifier: BSD-3-Clause
// Verifies one proof of a login repeatedly, for proof_time_test: proof_loop right|first|final TIMES. The proof is
// right, or wrong in its first or in its final byte.
#include <cinnabar/files/key.hpp>

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    using namespace cinnabar::files;
    if (argc != 3) return EXIT_FAILURE;
    const std::string_view kind = argv[1];
    const Key key = Key::from("a key of at least 16 bytes").value();
    const Nonce client{1};
    const Nonce server{2};
    Proof proof = key.prove_client(client, server);
    if (kind == "first") proof.front() ^= 1;
    if (kind == "final") proof.back() ^= 1;
    unsigned long accepted = 0;
    const unsigned long times = std::strtoul(argv[2], nullptr, 10);
    for (unsigned long i = 0; i < times; ++i) accepted += key.accepts_client(proof, client, server) ? 1 : 0;
    return accepted == (kind == "right" ? times : 0) ? EXIT_SUCCESS : EXIT_FAILURE;
}
