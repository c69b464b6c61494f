// SPDX-License-Identifier: BSD-3-Clause
// The RPCs that the processes of a group serve.
#pragma once

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace cinnabar::test {

inline constexpr Rpc<int()> get_pid{"test.get_pid"};
inline constexpr Rpc<int()> count_late{"test.count_late"};                // returns 1 after a second
inline constexpr Rpc<std::uint64_t()> pass_barrier{"test.pass_barrier"};  // returns how many have arrived

inline constexpr Rpc<void(bool)> load_words{"test.load_words"};  // true: fails with io unless it receives words()
// Receives everything and then passes it on to each half of the ranks: a broadcast without pipelining, for comparison.
inline constexpr Rpc<void(std::vector<group::Rank>)> pass_words_on{"test.pass_words_on"};

// The words 0, 1, 2, ...
inline std::vector<std::uint64_t> words(std::size_t count) {
    std::vector<std::uint64_t> memory(count);
    std::iota(memory.begin(), memory.end(), std::uint64_t{0});
    return memory;
}

inline Task<Result<void>> pass_on(const group::Group& group, bulk::Region region, std::vector<group::Rank> ranks) {
    std::vector<Task<Result<group::Reached>>> halves;
    const std::span<const group::Rank> all(ranks);
    for (const auto half : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
        if (half.empty()) continue;
        std::map<group::Rank, bulk::Region> one;
        one[half.front()] = region;
        group::BulkOptions options;
        options.call.deadline = std::chrono::seconds(60);
        const std::vector<group::Rank> below(half.begin() + 1, half.end());
        halves.push_back(group.scatter_bulk(pass_words_on, below, one, options));
    }
    auto passing = when_all(std::move(halves));
    for (const auto& passed : co_await passing) {
        if (!passed) co_return passed.error();
        if (!passed->all()) co_return passed->failures.front().code;
    }
    co_return Result<void>();
}

// `begun` is called when a handler begins to receive. The memory is kept for the next call. The group must outlive its
// handlers.
template <typename F>
void serve_words(NodeRef node, const group::Group& group, F begun) {
    auto kept = std::make_shared<bulk::Region>();
    const auto place = [node, kept](std::uint64_t bytes) {
        if (kept->bytes() != bytes) *kept = node.allocate(bytes).value();
        return *kept;
    };
    const auto load = [place, begun](bool check, group::Portion portion) -> Task<Result<void>> {
        const bulk::Region region = place(portion.bytes());
        begun();
        auto receiving = portion.receive(region);
        const Result<void> received = co_await receiving;
        if (!received || !check) co_return received;
        const Bytes bytes = region.contiguous();
        const std::vector<std::uint64_t> expected = words(bytes.size() / 8);
        const bool right = std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0;
        std::memset(bytes.data(), 0, bytes.size());
        co_return right ? Result<void>() : Result<void>(Errc::io);
    };
    group.serve_bulk(load_words, load).value();
    const auto pass = [node, place, &group](std::vector<group::Rank> below,
                                            group::Portion portion) -> Task<Result<void>> {
        const bulk::Region region = place(portion.bytes());
        auto receiving = portion.receive(region);
        const Result<void> received = co_await receiving;
        if (!received) co_return received;
        // The caller may know members that this one has not heard of yet.
        const auto knows_all = [&] {
            return std::ranges::all_of(below, [&](group::Rank rank) { return group.view().find(rank) != nullptr; });
        };
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!knows_all() && std::chrono::steady_clock::now() < until)
            (void)co_await node.sleep_for(std::chrono::milliseconds(1));
        auto passing = pass_on(group, region, std::move(below));
        co_return co_await passing;
    };
    group.serve_bulk(pass_words_on, pass).value();
}

inline group::GroupOptions quick_group() {
    group::GroupOptions options;
    options.swim.period = std::chrono::milliseconds(200);
    options.swim.suspicion_min = 4;
    options.swim.suspicion_spread = 2;
    return options;
}

// For many members on few processors.
inline group::GroupOptions quick_group_of_many() {
    group::GroupOptions options = quick_group();
    options.own_loop = false;
    return options;
}

// `begun` is called when a handler begins to wait. The group must outlive its handlers. get_pid is served last: who
// answers it serves the others as well.
template <typename F>
void serve_late(NodeRef node, const group::Group& group, F begun) {
    const auto late = [node, begun]() -> Task<int> {
        begun();
        (void)co_await node.sleep_for(std::chrono::seconds(1));
        co_return 1;
    };
    group.serve(count_late, late, group::plus).value();
    const auto pass = [&group, begun]() -> Task<Result<std::uint64_t>> {
        begun();
        auto passing = group.barrier("step", {.deadline = std::chrono::seconds(60)});
        const Result<group::Reached> reached = co_await passing;
        if (!reached) co_return reached.error();
        co_return reached->count;
    };
    group.serve(pass_barrier, pass).value();
    group.serve(get_pid, [] { return static_cast<int>(::getpid()); }).value();
}

}  // namespace cinnabar::test
