// SPDX-License-Identifier: BSD-3-Clause
// Copies between a registration and flat bytes.
#pragma once

#include <cinnabar/na/memory.hpp>

namespace cinnabar::shm {

// Requires: the range lies inside.
void copy_out(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::byte* to) noexcept;
void copy_in(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, const std::byte* from) noexcept;

}  // namespace cinnabar::shm
