// SPDX-License-Identifier: BSD-3-Clause
// Calls that were canceled before they arrived, which is possible on unordered transports. Bounded: the oldest entry is
// overwritten. Owner of the context only.
#pragma once

#include <array>
#include <cstdint>

namespace cinnabar::na {
class Peer;
}

namespace cinnabar::rpc {

class Tombstones {
  public:
    void put(const na::Peer& peer, std::uint64_t call) noexcept { places_[next_++ % places_.size()] = {&peer, call}; }
    // Whether that call was canceled; removes the entry.
    [[nodiscard]] bool take(const na::Peer& peer, std::uint64_t call) noexcept {
        for (Tombstone& place : places_) {
            if (place.peer != &peer || place.call != call) continue;
            place = {};
            return true;
        }
        return false;
    }
    // Call when the connection to that peer was lost.
    void forget(const na::Peer& peer) noexcept {
        for (Tombstone& place : places_) {
            if (place.peer == &peer) place = {};
        }
    }

  private:
    struct Tombstone {
        const na::Peer* peer = nullptr;
        std::uint64_t call = 0;
    };
    std::array<Tombstone, 64> places_{};
    std::size_t next_ = 0;
};

}  // namespace cinnabar::rpc
