// SPDX-License-Identifier: BSD-3-Clause
#include "work_request.hpp"

#include <cinnabar/base/assert.hpp>

#include <arpa/inet.h>

#include <algorithm>

namespace cinnabar::verbs {
namespace {

ibv_send_wr& append(WorkRequests& out, ibv_wr_opcode opcode, std::span<ibv_sge> pieces) noexcept {
    CINNABAR_DEBUG_ASSERT(out.count < out.requests.size());
    ibv_send_wr& request = out.requests[out.count];
    request = {};
    request.opcode = opcode;
    request.sg_list = pieces.empty() ? nullptr : pieces.data();
    request.num_sge = static_cast<int>(pieces.size());
    if (out.count > 0) out.requests[out.count - 1].next = &request;
    ++out.count;
    return request;
}

void aim(ibv_send_wr& request, std::uint64_t address, std::uint32_t rkey) noexcept {
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
}

void append_reads(const RemotePlace& remote, std::span<ibv_sge> pieces, const DeviceTraits& traits,
                  WorkRequests& out) noexcept {
    std::uint64_t address = remote.address;
    while (!pieces.empty()) {
        const std::span<ibv_sge> part = pieces.first(std::min<std::size_t>(pieces.size(), traits.read_pieces_max));
        aim(append(out, IBV_WR_RDMA_READ, part), address, remote.rkey);
        ++out.reads;
        for (const ibv_sge& piece : part) address += piece.length;
        pieces = pieces.subspan(part.size());
    }
}

}  // namespace

void build_rma(const na::Op& op, const RemotePlace& remote, std::span<const ibv_sge> local,
               const SpecialPieces& special, const DeviceTraits& traits, WorkRequests& out) noexcept {
    CINNABAR_DEBUG_ASSERT(local.size() <= op_pieces_max);
    out.count = out.reads = 0;
    std::copy(local.begin(), local.end(), out.pieces.begin());
    const std::span<ibv_sge> pieces = std::span(out.pieces).first(local.size());
    const std::span<ibv_sge> bin = std::span(out.pieces).last(1);
    bin.front() = special.bin;
    if (op.kind == na::OpKind::get)
        return append_reads(pieces.empty() ? special.beacon : remote, pieces.empty() ? bin : pieces, traits, out);
    const bool immediate = op.kind == na::OpKind::put_notify && !traits.iwarp;
    ibv_send_wr& write = append(out, immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, pieces);
    aim(write, remote.address, remote.rkey);
    if (immediate) write.imm_data = htonl(op.notify);
    if (!traits.iwarp) return;
    if (op.kind == na::OpKind::put_notify) {
        const std::span<ibv_sge> notification = std::span(out.pieces).last(2).first(1);
        notification.front() = special.notification;
        append(out, IBV_WR_SEND, notification).send_flags = IBV_SEND_INLINE;
    }
    append_reads(special.beacon, bin, traits, out);
}

void build_atomic(const na::Op& op, const RemotePlace& remote, const ibv_sge& cell, WorkRequests& out) noexcept {
    out.count = out.reads = 0;
    out.pieces[0] = cell;
    const bool adds = op.kind == na::OpKind::fetch_add;
    ibv_send_wr& request =
        append(out, adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, std::span(out.pieces).first(1));
    request.wr.atomic.remote_addr = remote.address;
    request.wr.atomic.rkey = remote.rkey;
    request.wr.atomic.compare_add = adds ? op.operand : op.compare;
    request.wr.atomic.swap = adds ? 0 : op.operand;
    out.reads = 1;
}

void build_probe(ibv_sge& bin, const RemotePlace& beacon, ibv_send_wr& out) noexcept {
    out = {};
    out.opcode = IBV_WR_RDMA_READ;
    out.sg_list = &bin;
    out.num_sge = 1;
    aim(out, beacon.address, beacon.rkey);
}

bool takes_credit(const na::Op& op) noexcept { return is_message(op.kind) || op.kind == na::OpKind::put_notify; }

std::uint32_t reads_of(const na::Op& op, std::size_t pieces, const DeviceTraits& traits) noexcept {
    if (is_message(op.kind)) return 0;
    if (is_atomic(op.kind)) return 1;
    if (op.kind != na::OpKind::get) return traits.iwarp ? 1 : 0;
    const std::size_t each = traits.read_pieces_max;
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (pieces + each - 1) / each));
}

}  // namespace cinnabar::verbs
