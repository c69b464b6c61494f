// SPDX-License-Identifier: BSD-3-Clause
// The description of a lease: a LeaseKey, and the slot of its owner's lease board.
#pragma once

#include <cinnabar/na/lease_table.hpp>

namespace cinnabar::shm {

inline constexpr std::size_t key_bytes = na::LeaseKey::wire_bytes + 4;

// No slot of the board where the lease is not on it. Requires: key_bytes.
[[nodiscard]] inline std::uint32_t board_slot_of(ConstBytes key) noexcept {
    Reader reader(key.subspan(na::LeaseKey::wire_bytes));
    return reader.u32();
}

}  // namespace cinnabar::shm
