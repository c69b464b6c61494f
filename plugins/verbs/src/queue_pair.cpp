// SPDX-License-Identifier: BSD-3-Clause
#include "queue_pair.hpp"

#include "rdma_library.hpp"
#include "system_errors.hpp"

#include <algorithm>
#include <array>

namespace cinnabar::verbs {
namespace {

constexpr std::uint32_t send_queue_wanted = 256;
// The sizes to try for messages that are copied into their work request (inline). The largest size that the device
// allows is used.
constexpr std::array<std::uint32_t, 5> inline_bytes_wanted{256, 128, 64, 32, inline_bytes_min};

}  // namespace

bool make_queue_pair(rdma_cm_id& id, const Device& device, ibv_cq* completions, ibv_srq* slots,
                     QueuePairSize& out) noexcept {
    out.depth = std::min(send_queue_wanted, static_cast<std::uint32_t>(device.limits().max_qp_wr));
    for (const std::uint32_t inline_bytes : inline_bytes_wanted) {
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = completions;
        wanted.srq = slots;
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap = {out.depth, 0, device.traits().send_pieces_max, 1, inline_bytes};
        if (rdma().create_qp(&id, device.pd(), &wanted) != 0) continue;
        out.inline_bytes_max = wanted.cap.max_inline_data;
        return true;
    }
    return false;
}

void limit_retries(rdma_cm_id& id, Microseconds keepalive) noexcept {
    const std::int64_t patience_us = std::max<std::int64_t>(keepalive.count(), 1'000'000);
    std::uint8_t exponent = 12;  // the timeout is 4.096 us * 2^exponent
    while (exponent < 18 && (std::int64_t{8} * 4096 << (exponent + 1)) / 1000 <= patience_us / 2) ++exponent;
    (void)rdma().set_option(&id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof exponent);
}

void fail_queue_pair(ibv_qp& queue_pair) noexcept {
    ibv_qp_attr failed{};
    failed.qp_state = IBV_QPS_ERR;
    (void)rdma().modify_qp(&queue_pair, &failed, IBV_QP_STATE);
}

}  // namespace cinnabar::verbs
