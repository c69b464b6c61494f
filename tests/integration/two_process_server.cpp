// SPDX-License-Identifier: BSD-3-Clause
// The other process of two_process_test: serves until its standard input ends, and says where on its standard output.
#include <cinnabar/cinnabar.hpp>

#include <unistd.h>

#include <cstdio>

using namespace std::chrono_literals;

int main() {
    static constexpr cinnabar::Rpc<int(int)> twice{"twice"};
    static constexpr cinnabar::Rpc<void()> hang{"hang"};
    static constexpr cinnabar::Rpc<std::uint64_t(cinnabar::Bulk)> checksum{"checksum"};
    auto node = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    (void)node.serve(twice, [](int value) { return 2 * value; });
    (void)node.serve(hang, [](cinnabar::Request<cinnabar::rpc::Empty> request) -> cinnabar::Task<void> {
        (void)co_await request.node().sleep_for(1h);
    });
    (void)node.serve(
        checksum,
        [&node](cinnabar::Request<cinnabar::Bulk> request) -> cinnabar::Task<cinnabar::Result<std::uint64_t>> {
            auto buffer = node.buffers().take(request->size());
            if (!buffer) co_return buffer.error();
            if (auto moved = co_await request->pull(*buffer); !moved) co_return moved;
            std::uint64_t sum = 0;
            for (const std::byte byte : buffer->bytes()) sum = sum * 31 + static_cast<std::uint64_t>(byte);
            co_return sum;
        });
    std::printf("%s\n", node.address().c_str());
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
