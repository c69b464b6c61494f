// SPDX-License-Identifier: BSD-3-Clause
// Memory windows of type 2B. The device accepts a window's remote key only on the queue pair to which a work request
// has bound the window. Any thread.
#pragma once

#include "lease_key.hpp"

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

namespace cinnabar::verbs {

// The maximum length of a window, with room to spare: mlx5 refuses to bind more than 2 GiB.
inline constexpr std::uint64_t window_bytes_max = std::uint64_t{1} << 30;

struct WindowDeleter {
    // Frees the window, which also unbinds it. Later accesses fail; accesses that have begun end with the registration.
    void operator()(ibv_mw* window) const noexcept;
};
using Window = std::unique_ptr<ibv_mw, WindowDeleter>;

// Null, with errno: the device has no more windows, or none at all.
[[nodiscard]] Window make_window(ibv_pd& domain) noexcept;

// The key with which to bind a window that was never bound: its upper 24 bits are those that the device has chosen, the
// lower 8 bits are random. The key differs from the window's present key, as devices demand.
[[nodiscard]] std::uint32_t bound_key(const ibv_mw& window) noexcept;

// Builds the request that binds the window to a part of a registration with IBV_ACCESS_MW_BIND, under segment.rkey.
// `access`: IBV_ACCESS_REMOTE_*.
void build_bind(ibv_mw& window, const KeySegment& segment, ibv_mr& registration, unsigned access,
                ibv_send_wr& out) noexcept;

}  // namespace cinnabar::verbs
