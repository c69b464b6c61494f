// SPDX-License-Identifier: BSD-3-Clause
// A counter that many processes increment: its owner shares one word, and hands out a token for it.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <iostream>
#include <vector>

using namespace cinnabar;

inline constexpr Rpc<Remote<std::uint64_t>()> counter{"counter"};

// Counts to 1,000, ten at a time.
Task<Result<void>> count(NodeRef node, Remote<std::uint64_t> word) {
    for (int i = 0; i < 100; ++i) {
        const auto before = co_await word.fetch_add(node, 10);
        if (!before) co_return before.error();
    }
    co_return Result<void>();
}

int main() {
    auto owner = Node::listen("tcp://127.0.0.1:0").value();
    std::vector<std::uint64_t> memory(1);
    const auto shared = share(owner, std::span(memory)).value();
    owner.serve(counter, [&shared] { return shared.span()[0]; }).value();

    std::vector<Node> nodes;
    std::vector<Task<Result<void>>> all;
    for (int i = 0; i < 4; ++i) {
        auto [node, peer] = Node::connect(owner.address()).value();
        all.push_back(count(node.ref(), node.call(counter, peer).wait().value()));
        nodes.push_back(std::move(node));
    }
    for (const auto& each : sync_wait(when_all(std::move(all))).value())
        if (!each) std::cout << each.error().message() << '\n';
    std::cout << "four nodes counted to " << memory[0] << '\n';

    // Of four that compete, one wins: the one that finds a 0 and swaps it for its own number.
    memory[0] = 0;
    int winners = 0;
    for (std::uint64_t number = 1; number <= 4; ++number) {
        const Node& node = nodes[number - 1];
        const auto word = node.call(counter, node.lookup(owner.address()).value()).wait().value();
        if (word.compare_swap(node, 0, number).wait().value() == 0) ++winners;
    }
    std::cout << winners << " of four won\n";
}
