// SPDX-License-Identifier: BSD-3-Clause
// Presents a wrong key of a lease and a wrong seal of a token repeatedly, for secret_time_test:
// secret_loop first|final|all TIMES, by which byte of them is wrong.
#include "remote_seal.hpp"

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    using namespace cinnabar;
    if (argc != 3) return EXIT_FAILURE;
    const std::string_view kind = argv[1];
    std::uint64_t wrong = ~std::uint64_t{0};
    if (kind == "first") wrong = 1;
    if (kind == "final") wrong = std::uint64_t{1} << 63;

    na::Registry registry;
    add_builtin(registry);
    const auto transport = registry.open("self://secrets", {}).value();
    std::array<std::byte, 64> room{};
    const na::Segment segment{room.data(), room.size()};
    const auto memory = transport->register_memory({&segment, 1}, na::Access::read).value();
    na::LeaseTable table(16);
    na::Lease lease;
    lease.memory = memory.get();
    lease.bytes = room.size();
    if (table.grant(lease) != Errc::ok) return EXIT_FAILURE;
    const na::LeaseKey right{lease.slot, lease.generation, lease.key};
    const auto pins = [&](const na::LeaseKey& key) { return table.pin(key, 0, 8, na::Access::read, nullptr).ok(); };

    const volatile std::uint64_t half = 1;  // read each time, so that the compiler makes no seal in advance
    const auto is_sealed = [&](const hl::RemoteGrant& by) { return hl::is_sealed_by(SipKey{half, 2}, by); };
    hl::RemoteGrant grant;
    grant.node = 3;
    grant.bytes = 64;
    grant.seal = hl::seal_of(SipKey{half, 2}, grant);
    if (!pins(right) || !is_sealed(grant)) return EXIT_FAILURE;

    const na::LeaseKey guess{right.slot, right.generation, right.key ^ wrong};
    grant.seal ^= wrong;
    unsigned long accepted = 0;
    const unsigned long times = std::strtoul(argv[2], nullptr, 10);
    for (unsigned long i = 0; i < times; ++i) {
        accepted += pins(guess) ? 1 : 0;
        accepted += is_sealed(grant) ? 1 : 0;
    }
    table.revoke(lease);
    if (accepted != 0) std::abort();  // so that the run does not count
    return EXIT_SUCCESS;
}
