// SPDX-License-Identifier: BSD-3-Clause
// The queue pair of a connection, as far as only the device is concerned.
#pragma once

#include "device.hpp"

#include <cinnabar/base/clock.hpp>

namespace cinnabar::verbs {

struct QueuePairSize {
    std::uint32_t depth = 0;             // of the send queue
    std::uint32_t inline_bytes_max = 0;  // bytes that go to the device with their work request
};

// Makes one on `id` whose completions go to `completions` and whose receives come from `slots`. False, with errno, when
// the device refuses.
[[nodiscard]] bool make_queue_pair(rdma_cm_id& id, const Device& device, ibv_cq* completions, ibv_srq* slots,
                                   QueuePairSize& out) noexcept;
// Bounds how long the device tries to reach the other side: eight times this, and up to four times as long where it
// rounds up. Before the connection is made.
void limit_retries(rdma_cm_id& id, Microseconds keepalive) noexcept;
// The device gives back what it holds, and receives nothing more.
void fail_queue_pair(ibv_qp& queue_pair) noexcept;

}  // namespace cinnabar::verbs
