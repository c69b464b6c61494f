// SPDX-License-Identifier: BSD-3-Clause
// The notices that a context expects, by value. A value consists of the index of a slot in a table and the number of
// times that this slot was used. Owner of the context only.
#pragma once

#include <cinnabar/na/peer.hpp>
#include <cinnabar/rpc/notice.hpp>

#include <cstdint>
#include <vector>

namespace cinnabar::rpc {

class Notices {
  public:
    // False: all slots are taken, or out of memory.
    [[nodiscard]] bool enter(Notice& notice) noexcept;
    void leave(const Notice& notice) noexcept;
    void end_all(Errc why) noexcept;
    [[nodiscard]] bool expects(const Notice& notice) const noexcept;  // the notification has not arrived
    // Null: no notice expects that value from that peer.
    [[nodiscard]] Notice* find(const na::Peer& peer, std::uint32_t value) const noexcept;

  private:
    static constexpr std::uint32_t index_bits = 16;
    static constexpr std::size_t slots_max = 1u << index_bits;

    struct Slot {
        Notice* notice = nullptr;
        std::uint16_t uses = 0;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

}  // namespace cinnabar::rpc
