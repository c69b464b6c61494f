// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <algorithm>
#include <iterator>

namespace cinnabar::group {
namespace {

constexpr std::size_t flat_max = 8;
constexpr std::size_t large_bytes = std::size_t{64} << 10;

Branch branch(std::span<const Rank> part) { return {part.front(), {part.begin() + 1, part.end()}}; }

}  // namespace

Shape shape_for(Tree wanted, unsigned fanout, std::size_t members, std::size_t bytes) {
    if (wanted == Tree::automatic) {
        if (members <= flat_max) return {Tree::flat, 2};
        return {Tree::k_nomial, bytes > large_bytes ? 2u : 4u};
    }
    return {wanted, fanout == 0 ? 4 : std::clamp(fanout, 2u, 64u)};
}

std::vector<Branch> branches_of(std::span<const Rank> ranks, Shape shape) {
    std::vector<Branch> branches;
    if (shape.tree == Tree::flat || shape.tree == Tree::automatic) {
        for (const Rank rank : ranks) branches.push_back({rank, {}});
    } else if (shape.tree == Tree::k_ary) {
        for (unsigned i = 0; i < shape.fanout && !ranks.empty(); ++i) {
            const std::size_t count = ranks.size() / (shape.fanout - i);
            if (count == 0) continue;
            branches.push_back(branch(ranks.first(count)));
            ranks = ranks.subspan(count);
        }
    } else {
        // Of all that are left, this member among them, k - 1 of k equal parts go to children, and one stays.
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

}  // namespace cinnabar::group
