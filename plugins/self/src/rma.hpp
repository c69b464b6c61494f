// SPDX-License-Identifier: BSD-3-Clause
// Put, get and atomics within one process: copies memory while its lease is pinned. Any thread.
#pragma once

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/op.hpp>

#include <cstddef>

namespace cinnabar::self_ {

// The maximum number of bytes that one post may copy.
inline constexpr std::size_t rma_bytes_max = 4 * 1024 * 1024;

// Carries out a put, a get or an atomic; of a put_notify, carries out only the put. permission, too_large: as
// LeaseTable::pin; bytes before the failure may have been written. protocol: the key is not one of this transport.
// invalid_argument: the 8 bytes of an atomic are not aligned, or are not all in one segment.
[[nodiscard]] Errc access_memory(na::LeaseTable& leases, na::Op& op) noexcept;

}  // namespace cinnabar::self_
