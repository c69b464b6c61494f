// SPDX-License-Identifier: BSD-3-Clause
// Operations on a session's queue pair that involve only the device.
#pragma once

#include "device.hpp"

#include <cinnabar/base/clock.hpp>

namespace cinnabar::verbs {

struct QueuePairSize {
    std::uint32_t depth = 0;             // entries of the send queue
    std::uint32_t inline_bytes_max = 0;  // the most bytes that a work request can contain inline
};

// Creates a queue pair on `id` whose completions go to `completions` and whose receives come from `slots`. False, with
// errno: the device refused.
[[nodiscard]] bool make_queue_pair(rdma_cm_id& id, const Device& device, ibv_cq* completions, ibv_srq* slots,
                                   QueuePairSize& out) noexcept;
// Limits how long the device retries to reach the other side: it gives up after eight timeouts of the length set here,
// each of which a device may prolong up to four times. Call it before the connection is made.
void limit_retries(rdma_cm_id& id, Microseconds keepalive) noexcept;
// Sets the queue pair to the error state: the device returns all work requests and receives nothing more.
void fail_queue_pair(ibv_qp& queue_pair) noexcept;

}  // namespace cinnabar::verbs
