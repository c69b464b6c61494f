// SPDX-License-Identifier: BSD-3-Clause
// The process that far_kill_test.cpp kills. `far_peer pull` prints its address, and pulls whatever is lent to it.
// `far_peer lend ADDRESS` lends memory in a call to that address. `far_peer share` prints its address, and gives tokens
// of memory that it shares.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <cstdio>
#include <future>
#include <span>
#include <string_view>
#include <vector>

using namespace cinnabar;
using namespace std::chrono_literals;

namespace {

constexpr Rpc<std::uint64_t(Bulk)> take_it{"take_it"};
constexpr Rpc<hl::RemoteSpan<std::uint64_t>()> get_shared{"get_shared"};
constexpr std::size_t shared_words = 1 << 20;
std::vector<std::byte> memory(4 << 20);

Task<Result<std::uint64_t>> take(Request<Bulk> request) { co_return co_await request->pull(Bytes(memory)); }

[[noreturn]] void wait_to_be_killed() {
    for (;;) std::promise<void>().get_future().wait();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view role = argc > 1 ? argv[1] : "";
    if (role == "pull") {
        const Node node = Node::listen("tcp://127.0.0.1:0").value();
        node.serve(take_it, take).value();
        std::printf("%s\n", node.address().c_str());
        std::fflush(stdout);
        wait_to_be_killed();
    }
    if (role == "share") {
        std::vector<std::uint64_t> words(shared_words);
        const Node node = Node::listen("tcp://127.0.0.1:0").value();
        const auto shared = hl::share(node, std::span(words)).value();
        node.serve(get_shared, [&shared] { return shared.span(); }).value();
        std::printf("%s\n", node.address().c_str());
        std::fflush(stdout);
        wait_to_be_killed();
    }
    if (role != "lend" || argc != 3) return 2;
    const Node node = Node::open("tcp://").value();
    const Addr to = node.lookup(argv[2]).value();
    (void)node.call(take_it, to, node.expose(std::span(memory)).value(), 60s).wait();
    wait_to_be_killed();
}
