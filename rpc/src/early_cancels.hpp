// SPDX-License-Identifier: BSD-3-Clause
// EarlyCancels: cancels that arrived before their requests, as can happen on unordered transports. Such a request is
// not run when it arrives. Bounded: a new entry overwrites the oldest. Owner of the context only.
#pragma once

#include <array>
#include <cstdint>

namespace cinnabar::na {
class Peer;
}

namespace cinnabar::rpc {

class EarlyCancels {
  public:
    void put(const na::Peer& peer, std::uint64_t call) noexcept { entries_[next_++ % entries_.size()] = {&peer, call}; }
    // Whether that call was canceled; removes the entry.
    [[nodiscard]] bool take(const na::Peer& peer, std::uint64_t call) noexcept {
        for (Entry& entry : entries_) {
            if (entry.peer != &peer || entry.call != call) continue;
            entry = {};
            return true;
        }
        return false;
    }
    // Call when the connection to that peer was lost.
    void forget(const na::Peer& peer) noexcept {
        for (Entry& entry : entries_) {
            if (entry.peer == &peer) entry = {};
        }
    }

  private:
    struct Entry {
        const na::Peer* peer = nullptr;
        std::uint64_t call = 0;
    };
    std::array<Entry, 64> entries_{};
    std::size_t next_ = 0;
};

}  // namespace cinnabar::rpc
