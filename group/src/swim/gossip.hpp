// SPDX-License-Identifier: BSD-3-Clause
// Gossip: the ranks about which this member tells others, in messages that it sends anyway. Each rank is told of a
// bounded number of times; the ranks that were told of least often come first. The claim about a rank is taken from the
// table when the message is made.
#pragma once

#include "rank_map.hpp"
#include "swim/table.hpp"

#include <cinnabar/base/export.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API Gossip {
  public:
    // Adds the life `incarnation` of the rank, or starts again to tell of it as if nothing had been told yet.
    // `described`: the claim has the profile, and has it until a later life is added. `by`: the member that suspects
    // the rank, if one does.
    void add(Rank rank, std::uint32_t incarnation, bool described, Rank by = no_rank);
    // Tells nothing more of that rank, because other members tell of it.
    void drop(Rank rank);
    // Adds up to `count_max` claims, and about `bytes_max` bytes at most, to `out`. Drops a rank after `sends_max`
    // sends.
    void take(const Table& table, std::vector<Claim>& out, std::size_t count_max, std::size_t bytes_max,
              unsigned sends_max);
    [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

  private:
    // Ranks that were told of equally often form a list, the rank that was added first at its front.
    struct Waiting {
        Rank before = no_rank;
        Rank after = no_rank;
        Rank by = no_rank;
        std::uint32_t incarnation = 0;
        std::uint16_t sends = 0;
        bool described = false;
    };
    struct Ends {
        Rank front = no_rank;
        Rank back = no_rank;
    };
    [[nodiscard]] std::vector<Rank> choose(const Table& table, std::vector<Claim>& out, std::size_t count_max,
                                           std::size_t bytes_max) const;
    void append(Rank rank, Waiting& waiting);
    void unlink(const Waiting& waiting);

    RankMap<Waiting> waiting_;
    std::vector<Ends> lists_;  // by the number of sends
};

}  // namespace cinnabar::group
