// SPDX-License-Identifier: BSD-3-Clause
// What both sides of an operation need that the owner's process carries out.
#pragma once

#include "rma_body.hpp"
#include "session.hpp"

#include <cinnabar/na/memory.hpp>

namespace cinnabar::shm {

// A range of a registration to a flat place, or back. Requires: it lies inside.
void copy_out(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::byte* to) noexcept;
void copy_in(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, const std::byte* from) noexcept;

[[nodiscard]] inline std::uint64_t id_of(const RmaSlot& slot) noexcept {
    return std::uint64_t{slot.generation} << 32 | slot.slot_index;
}
// Of an operation from its begin.
[[nodiscard]] RmaBody body_of(const na::Op& op) noexcept;

}  // namespace cinnabar::shm
