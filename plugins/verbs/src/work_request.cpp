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

// How many bytes of a piece, which lies at `address` on the other side, the first read of it takes.
std::uint32_t first_read(std::uint64_t address, std::uint32_t bytes, const DeviceTraits& traits) noexcept {
    constexpr std::uint32_t page = 4096;  // the smallest: larger ones have their boundaries there as well
    const auto on_page = page - static_cast<std::uint32_t>(address % page);
    return traits.garbles_short_messages && bytes <= short_message_bytes_max ? std::min(bytes, on_page) : bytes;
}

// Copies the pieces; returns how many there are when those that need two reads are cut in two.
std::size_t cut(std::uint64_t address, std::span<const ibv_sge> pieces, const DeviceTraits& traits,
                std::span<ibv_sge> out) noexcept {
    std::size_t count = 0;
    for (const ibv_sge& piece : pieces) {
        const std::uint32_t bytes = first_read(address, piece.length, traits);
        out[count++] = {piece.addr, bytes, piece.lkey};
        if (bytes < piece.length) out[count++] = {piece.addr + bytes, piece.length - bytes, piece.lkey};
        address += piece.length;
    }
    return count;
}

void append_reads(const RemoteAddress& remote, std::span<ibv_sge> pieces, const DeviceTraits& traits,
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

void build_rma(const na::Op& op, const RemoteAddress& remote, std::span<const ibv_sge> local,
               const SpecialPieces& special, const DeviceTraits& traits, WorkRequests& out) noexcept {
    CINNABAR_DEBUG_ASSERT(local.size() <= op_pieces_max);
    out.count = out.reads = 0;
    const std::span<ibv_sge> bin = std::span(out.pieces).last(1);
    bin.front() = special.bin;
    if (op.kind == na::OpKind::get) {
        const std::span<ibv_sge> pieces =
            std::span(out.pieces).first(cut(remote.address, local, traits, std::span(out.pieces).first(op_pieces_max)));
        return append_reads(pieces.empty() ? special.beacon : remote, pieces.empty() ? bin : pieces, traits, out);
    }
    std::copy(local.begin(), local.end(), out.pieces.begin());
    const std::span<ibv_sge> pieces = std::span(out.pieces).first(local.size());
    const bool immediate = op.kind == na::OpKind::put_notify && !traits.iwarp;
    ibv_send_wr& write = append(out, immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, pieces);
    aim(write, remote.address, remote.rkey);
    if (immediate) write.imm_data = htonl(op.notify);
    if (traits.garbles_short_messages && op.bytes <= short_message_bytes_max) write.send_flags |= IBV_SEND_INLINE;
    if (!traits.iwarp) return;
    if (op.kind == na::OpKind::put_notify) {
        const std::span<ibv_sge> notification = std::span(out.pieces).last(2).first(1);
        notification.front() = special.notification;
        append(out, IBV_WR_SEND, notification).send_flags = IBV_SEND_INLINE;
    }
    append_reads(special.beacon, bin, traits, out);
}

void build_atomic(const na::Op& op, const RemoteAddress& remote, const ibv_sge& cell, WorkRequests& out) noexcept {
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

void build_probe(ibv_sge& bin, const RemoteAddress& beacon, ibv_send_wr& out) noexcept {
    out = {};
    out.opcode = IBV_WR_RDMA_READ;
    out.sg_list = &bin;
    out.num_sge = 1;
    aim(out, beacon.address, beacon.rkey);
}

bool takes_credit(const na::Op& op) noexcept { return is_message(op.kind) || op.kind == na::OpKind::put_notify; }

std::uint32_t reads_of(const na::Op& op, const RemoteAddress& remote, std::span<const ibv_sge> local,
                       const DeviceTraits& traits) noexcept {
    if (is_message(op.kind)) return 0;
    if (is_atomic(op.kind)) return 1;
    if (op.kind != na::OpKind::get) return traits.iwarp ? 1 : 0;
    std::size_t pieces = local.size();
    if (traits.garbles_short_messages) {
        std::array<ibv_sge, op_pieces_max> all;
        pieces = cut(remote.address, local, traits, all);
    }
    const std::size_t each = traits.read_pieces_max;
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (pieces + each - 1) / each));
}

}  // namespace cinnabar::verbs
