// SPDX-License-Identifier: BSD-3-Clause
// Counts operations in progress per peer, and limits them per peer and in total. Any thread.
#pragma once

#include <cinnabar/na/addr.hpp>

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace cinnabar::group {

class PeerQuota {
  public:
    PeerQuota(std::size_t total_max, std::size_t peer_max) noexcept : total_max_(total_max), peer_max_(peer_max) {}

    // Counts one more operation of the peer. False: the limit of this peer or the total limit is reached. After true,
    // keep the address alive, and call leave() when the operation has ended.
    [[nodiscard]] bool enter(const na::Addr& peer) {
        const std::lock_guard lock(mutex_);
        const auto at = of_peers_.find(&peer.body());
        if (total_ >= total_max_ || (at != of_peers_.end() && at->second >= peer_max_)) return false;
        ++(at == of_peers_.end() ? of_peers_[&peer.body()] : at->second);
        ++total_;
        return true;
    }
    void leave(const na::Addr& peer) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = of_peers_.find(&peer.body());
        if (--at->second == 0) of_peers_.erase(at);
        --total_;
    }

  private:
    const std::size_t total_max_;
    const std::size_t peer_max_;
    std::mutex mutex_;
    std::size_t total_ = 0;
    std::unordered_map<const na::AddrBody*, std::size_t> of_peers_;
};

}  // namespace cinnabar::group
