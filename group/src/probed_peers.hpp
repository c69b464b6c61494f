// SPDX-License-Identifier: BSD-3-Clause
// ProbedPeers: the peers to which this process has sent messages for the group of its own accord, in the order of the
// last message to each. Decides which of these peers this process no longer needs: otherwise a member that probes one
// member after the other would in the end be connected to all of them.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/addr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace cinnabar::group {

// Whether a member of a group of `members` keeps all its peers: connections_max is enough for the peers that it dials
// and those that dial it.
[[nodiscard]] constexpr bool keeps_all(std::uint32_t connections_max, std::size_t members) noexcept {
    return 2 * members <= std::size_t{connections_max} + 2;
}

// How many peers a member keeps. If a member does not keep all peers, it keeps a fifth of connections_max, because by
// chance half as many members again or more may dial it, and because the trees of calls need some connections as well.
// If it keeps all peers, these may be up to former_max more than there are members, because members may have been
// started again elsewhere.
[[nodiscard]] constexpr std::size_t probed_max(std::uint32_t connections_max, std::size_t members) noexcept {
    constexpr std::size_t former_max = 256;
    const std::size_t all = std::min<std::size_t>(connections_max, members + former_max);
    return std::max<std::size_t>(keeps_all(connections_max, members) ? all : connections_max / 5, 1);
}

class ProbedPeers {
  public:
    static constexpr std::size_t peers_max = 256;

    // Notes a message to `to`, then does the same as let_go().
    [[nodiscard]] std::vector<na::Addr> note(const na::Addr& to, std::size_t most, Microseconds idle, TimeUs now) {
        const auto before =
            std::find_if(peers_.begin(), peers_.end(), [&to](const Probed& each) { return each.peer == to; });
        if (before != peers_.end()) peers_.erase(before);
        peers_.push_back({to, now});
        return let_go(most, idle, now);
    }
    // Keeps the `most` latest peers. Of the other peers, returns and forgets those to which the last message was sent
    // at least `idle` ago, and the oldest ones while there are more than peers_max.
    [[nodiscard]] std::vector<na::Addr> let_go(std::size_t most, Microseconds idle, TimeUs now) {
        std::vector<na::Addr> done;
        while (peers_.size() > most && (peers_.size() > peers_max || after(peers_.front().last_us, idle) <= now)) {
            done.push_back(std::move(peers_.front().peer));
            peers_.pop_front();
        }
        return done;
    }
    [[nodiscard]] std::size_t size() const noexcept { return peers_.size(); }

  private:
    struct Probed {
        na::Addr peer;
        TimeUs last_us;
    };
    std::deque<Probed> peers_;
};

}  // namespace cinnabar::group
