// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and atomics within one process: copies under a pin of the lease. Any thread.
#pragma once

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/op.hpp>

#include <cstddef>

namespace cinnabar::self_ {

// Bounds how long one post may copy.
inline constexpr std::size_t rma_bytes_max = 4 * 1024 * 1024;

// Does all of a put, get or put_notify (but for the notification), or an atomic. permission, too_large: as the lease
// table says; the bytes before the failure may be placed. protocol: the key is not one of this transport.
// invalid_argument: an atomic on memory that is not 8-byte aligned.
[[nodiscard]] Errc access_memory(na::LeaseTable& leases, na::Op& op) noexcept;

}  // namespace cinnabar::self_
