// SPDX-License-Identifier: BSD-3-Clause
// Copies by a device between a region and memory that another process of this host has shown by a handle.
#pragma once

#include <cinnabar/bulk/region.hpp>

#include <atomic>
#include <cstdint>

namespace cinnabar::bulk {

// Size of the pieces between which the copy checks whether it was dropped.
inline constexpr std::uint64_t ipc_piece_bytes = std::uint64_t{1} << 30;

// The device memory that contains the whole range, with its offset there; null memory: none contains it.
[[nodiscard]] FarSegment device_segment(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept;

// Opens the memory that the handle names, copies, and closes that memory again in any case. May block, so it runs on
// the threads of the far memory. canceled: `dropped` was set. unsupported: nothing was copied, and staging buffers can
// be used instead. Other errors: those of FarMemory::open_ipc(), load_into() and store_from().
[[nodiscard]] FarEnd copy_by_handle(const Region& region, std::uint64_t offset, std::uint64_t bytes,
                                    const IpcHandle& handle, bool into_region,
                                    const std::atomic<bool>& dropped) noexcept;

}  // namespace cinnabar::bulk
