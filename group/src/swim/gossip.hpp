// SPDX-License-Identifier: BSD-3-Clause
// Gossip: claims to be piggybacked on other messages, each a bounded number of times, least often sent first. Holds at
// most one claim per rank: a later one replaces the earlier.
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/export.hpp>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API Gossip {
  public:
    void add(Claim claim);
    // Forgets the claim about that rank: others spread it.
    void drop(Rank rank);
    // Adds up to `count_max` claims, and about `bytes_max` bytes at most, to `out`. Drops a claim after `sends_max`
    // sends.
    void take(std::vector<Claim>& out, std::size_t count_max, std::size_t bytes_max, unsigned sends_max);
    [[nodiscard]] std::size_t size() const noexcept { return claims_.size(); }

  private:
    using SendOrder = std::pair<unsigned, std::uint64_t>;  // times sent, then age
    struct Waiting {
        Claim claim;
        SendOrder order;
    };
    std::unordered_map<Rank, Waiting> claims_;
    std::map<SendOrder, Rank> order_;
    std::uint64_t next_ = 0;
};

}  // namespace cinnabar::group
