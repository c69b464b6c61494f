// SPDX-License-Identifier: BSD-3-Clause
// The key of a lease as peers receive it: a LeaseKey, and the lease's slot on the owner's lease board.
#pragma once

#include <cinnabar/na/lease_table.hpp>

namespace cinnabar::shm {

inline constexpr std::size_t key_bytes = na::LeaseKey::wire_bytes + 4;

// The slot in a key; LeaseBoard::no_slot: the lease is not on the board. Requires: `key` has key_bytes.
[[nodiscard]] inline std::uint32_t board_slot_of(ConstBytes key) noexcept {
    ByteReader reader(key.subspan(na::LeaseKey::wire_bytes));
    return reader.u32();
}

}  // namespace cinnabar::shm
