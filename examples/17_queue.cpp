// SPDX-License-Identifier: BSD-3-Clause
// A lock-free queue in remote memory, used by many processes at once. The owner of the memory shares the words of the
// queue and does nothing else. Each slot has a number that says whose turn it is (Vyukov's bounded queue).
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <optional>
#include <vector>

using namespace cinnabar;

using Words = RemoteSpan<std::uint64_t>;
inline constexpr Rpc<Words()> queue{"queue"};
constexpr std::uint64_t slots = 8;

// The words of the queue. Word 0: the number of the next value to take. Word 1: the number of the next value to put.
// Then two words for each slot: a turn and a value.
std::vector<std::uint64_t> empty_queue() {
    std::vector<std::uint64_t> words(2 + 2 * slots);
    for (std::uint64_t i = 0; i < slots; ++i) words[2 + 2 * i] = i;
    return words;
}

using Maybe = std::optional<std::uint64_t>;

struct Queue {
    NodeRef node;
    Words words;

    // Takes the next number of a counter if the turn of its slot is that number plus `after`. Empty: the turn is lower,
    // because the queue is full (for a put) or empty (for a take).
    Task<Result<Maybe>> ticket(std::uint64_t counter, std::uint64_t after) {
        for (;;) {
            CINNABAR_CO_TRY(const std::uint64_t at, co_await words[counter].read(node));
            CINNABAR_CO_TRY(const std::uint64_t turn, co_await words[2 + at % slots * 2].read(node));
            if (turn < at + after) co_return Maybe();
            if (turn > at + after) continue;  // somebody was faster
            CINNABAR_CO_TRY(const std::uint64_t found, co_await words[counter].compare_swap(node, at, at + 1));
            if (found == at) co_return Maybe(at);
        }
    }
    // False: the queue is full.
    Task<Result<bool>> put(std::uint64_t value) {
        CINNABAR_CO_TRY(const auto mine, co_await ticket(1, 0));
        if (!mine) co_return false;
        CINNABAR_CO_TRY([[maybe_unused]] const auto in, co_await words[3 + *mine % slots * 2].write(node, value));
        CINNABAR_CO_TRY([[maybe_unused]] const auto told, co_await words[2 + *mine % slots * 2].write(node, *mine + 1));
        co_return true;
    }
    // No value: the queue is empty.
    Task<Result<Maybe>> take() {
        CINNABAR_CO_TRY(const auto mine, co_await ticket(0, 1));
        if (!mine) co_return Maybe();
        CINNABAR_CO_TRY(const std::uint64_t value, co_await words[3 + *mine % slots * 2].read(node));
        CINNABAR_CO_TRY([[maybe_unused]] const auto told,
                        co_await words[2 + *mine % slots * 2].write(node, *mine + slots));
        co_return Maybe(value);
    }
};

constexpr std::uint64_t values_each = 50;

Task<Result<void>> put_all(Queue to, std::uint64_t first) {
    for (std::uint64_t i = 0; i < values_each;) {
        CINNABAR_CO_TRY(const bool done, co_await to.put(first + i));
        if (done) ++i;
    }
    co_return Result<void>();
}

Task<Result<void>> take_some(Queue from, std::uint64_t count, std::vector<std::uint64_t>& into) {
    while (into.size() < count) {
        CINNABAR_CO_TRY(const auto value, co_await from.take());
        if (value) into.push_back(*value);
    }
    co_return Result<void>();
}

int main() {
    auto owner = Node::listen("tcp://127.0.0.1:0").value();
    std::vector<std::uint64_t> memory = empty_queue();
    const auto shared = share(owner, std::span(memory)).value();
    owner.serve(queue, [&shared] { return shared.span(); }).value();

    // Three put 50 values each, two take 75 each, all at once.
    std::vector<Node> nodes;
    std::vector<Task<Result<void>>> all;
    std::vector<std::uint64_t> taken[2];
    for (std::uint64_t i = 0; i < 5; ++i) {
        auto [node, peer] = Node::connect(owner.address()).value();
        const Queue mine{node.ref(), node.call(queue, peer).wait().value()};
        all.push_back(i < 3 ? put_all(mine, i * values_each) : take_some(mine, 75, taken[i - 3]));
        nodes.push_back(std::move(node));
    }
    for (const auto& each : sync_wait(when_all(std::move(all))).value())
        if (!each) std::cout << each.error().message() << '\n';

    std::vector<std::uint64_t> values = taken[0];
    values.insert(values.end(), taken[1].begin(), taken[1].end());
    std::ranges::sort(values);
    std::vector<std::uint64_t> wanted(3 * values_each);
    std::iota(wanted.begin(), wanted.end(), 0u);
    std::cout << "taken " << values.size() << " values, " << (values == wanted ? "each once" : "not each once") << '\n';
    std::cout << "numbers given out: " << memory[1] << " to put, " << memory[0] << " to take\n";
}
