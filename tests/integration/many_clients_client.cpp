// SPDX-License-Identifier: BSD-3-Clause
// One of many clients. Arguments: the server's address, the number of calls, and the address to open. It lends memory
// once and exits with 0 if all results are right. It waits for the end of its standard input, so that all clients exist
// at the same time.
#include "two_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

using namespace std::chrono_literals;

int main(int, char** arguments) {
    using namespace cinnabar;
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string server = arguments[1];
    const int calls = std::atoi(arguments[2]);
    NodeOptions options;
    options.transport.connect_timeout = 60s;  // all clients connect at once
    options.progress_thread = false;
    auto node = Node::open(arguments[3], options).value();
    const Addr to = node.lookup(server).value();
    for (int i = 0; i < calls; ++i) {
        if (node.call(test::twice, to, i, 60s).wait().value() != 2 * i) return 1;
    }
    std::vector<std::uint8_t> bytes(100'000);
    std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(::getpid()));
    std::uint64_t expected = 0;
    for (const std::uint8_t byte : bytes) expected = expected * 31 + byte;
    const Region region = node.expose(std::span<const std::uint8_t>(bytes)).value();
    if (node.call(test::checksum, to, region, 60s).wait().value() != expected) return 2;
    std::printf("done\n");
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    // The connection still works after being idle.
    return node.call(test::twice, to, 21, 60s).wait().value() == 42 ? 0 : 3;
}
