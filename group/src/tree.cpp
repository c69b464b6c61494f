// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace cinnabar::group {
namespace {

constexpr std::size_t flat_max = 8;
constexpr std::size_t large_bytes = std::size_t{64} << 10;
constexpr std::size_t chain_max = 64;  // beyond that, one slow member delays too many

Branch branch(std::span<const Rank> part) { return {part.front(), {part.begin() + 1, part.end()}}; }

}  // namespace

Shape shape_for(Tree wanted, unsigned fanout, std::size_t members, std::size_t bytes) {
    if (wanted == Tree::automatic) {
        if (members <= flat_max) return {Tree::flat, 2};
        return {Tree::k_nomial, bytes > large_bytes ? 2u : 4u};
    }
    return {wanted, fanout == 0 ? 4 : std::clamp(fanout, 2u, 64u)};
}

// Estimates the time as the number of bytes that one process sends. In a chain each process sends everything once, and
// the last member waits for one more chunk per member before it. In a binary tree each process sends everything twice;
// in a binomial tree the first process sends everything to log2(members) others.
Shape bulk_shape_for(Tree wanted, unsigned fanout, std::size_t members, std::uint64_t bytes,
                     std::uint64_t chunk_bytes) {
    if (wanted != Tree::automatic) return shape_for(wanted, fanout, members, 0);
    if (members <= 2) return {Tree::flat, 2};
    const std::uint64_t chunk = std::min(chunk_bytes, std::max<std::uint64_t>(bytes, 1));
    const std::uint64_t levels = std::bit_width(members);
    const std::uint64_t chain = members <= chain_max ? bytes + (members - 1) * chunk : ~std::uint64_t{0};
    const std::uint64_t binary = 2 * bytes + 2 * (levels - 1) * chunk;
    const std::uint64_t binomial = levels * bytes;
    if (chain <= binary && chain <= binomial) return {Tree::chain, 2};
    return binary <= binomial ? Shape{Tree::k_ary, 2} : Shape{Tree::k_nomial, 2};
}

std::vector<Branch> branches_of(std::span<const Rank> ranks, Shape shape) {
    std::vector<Branch> branches;
    if (shape.tree == Tree::flat || shape.tree == Tree::automatic) {
        for (const Rank rank : ranks) branches.push_back({rank, {}});
    } else if (shape.tree == Tree::chain) {
        if (!ranks.empty()) branches.push_back(branch(ranks));
    } else if (shape.tree == Tree::k_ary) {
        for (unsigned i = 0; i < shape.fanout && !ranks.empty(); ++i) {
            const std::size_t count = ranks.size() / (shape.fanout - i);
            if (count == 0) continue;
            branches.push_back(branch(ranks.first(count)));
            ranks = ranks.subspan(count);
        }
    } else {
        // Splits the remaining ranks, this member included, into k equal parts: k - 1 go to children, one stays here.
        while (!ranks.empty()) {
            const std::size_t part = std::max<std::size_t>((ranks.size() + 1) / shape.fanout, 1);
            for (unsigned i = 1; i < shape.fanout && !ranks.empty(); ++i) {
                const std::size_t count = std::min(part, ranks.size());
                branches.push_back(branch(ranks.first(count)));
                ranks = ranks.subspan(count);
            }
        }
    }
    return branches;
}

std::vector<RankRun> runs_of(std::span<const Rank> ranks) {
    std::vector<RankRun> runs;
    for (const Rank rank : ranks) {
        if (runs.empty() || runs.back().first + runs.back().count != rank)
            runs.push_back({rank, 1});
        else
            ++runs.back().count;
    }
    return runs;
}

std::optional<std::vector<Rank>> ranks_of(std::span<const RankRun> runs, std::size_t ranks_max) {
    std::vector<Rank> ranks;
    for (const RankRun& run : runs) {
        if (run.count > ranks_max - ranks.size() || run.first > no_rank - run.count) return {};
        for (std::uint32_t i = 0; i < run.count; ++i) ranks.push_back(run.first + i);
    }
    std::vector<Rank> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return {};
    return ranks;
}

void add_holder(std::vector<HolderRun>& runs, Rank rank, std::uint32_t holder) {
    if (holder == 0) return;
    const bool goes_on = !runs.empty() && runs.back().holder == holder && rank == runs.back().first + runs.back().count;
    if (goes_on)
        ++runs.back().count;
    else
        runs.push_back({rank, 1, holder});
}

bool is_ascending(std::span<const HolderRun> runs) noexcept {
    std::uint64_t next = 0;
    for (const HolderRun& run : runs) {
        if (run.first < next) return false;
        next = std::uint64_t{run.first} + run.count;
    }
    return true;
}

std::uint32_t holder_in(std::span<const HolderRun> runs, Rank rank) noexcept {
    const auto after = std::upper_bound(runs.begin(), runs.end(), rank,
                                        [](Rank wanted, const HolderRun& run) { return wanted < run.first; });
    if (after == runs.begin()) return 0;
    const HolderRun& run = *std::prev(after);
    return rank - run.first < run.count ? run.holder : 0;
}

}  // namespace cinnabar::group
