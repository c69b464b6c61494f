// SPDX-License-Identifier: BSD-3-Clause
// From operations to work requests of a queue pair. Pure: needs no device.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>

namespace cinnabar::verbs {

// What the device, and with it the kind of fabric, can do.
struct DeviceTraits {
    bool iwarp = false;  // a write completes when it is sent, not when it is placed; there is no immediate data
    bool picks_addresses = false;  // peers may be given another address for lent memory than its own
    bool lets_go_late = false;     // a registration is given back while a piece of a message is being placed by it
    bool atomics = false;
    std::uint32_t send_pieces_max = 1;  // scatter-gather entries of a write
    std::uint32_t read_pieces_max = 1;  // and of a read
    std::uint32_t read_depth_max = 1;   // reads and atomics under way on one connection, either way
    std::size_t rma_bytes_max = 0;
    std::uint64_t registration_bytes_max = ~std::uint64_t{0};
    std::uint32_t connections_max = ~std::uint32_t{0};
};

// Pieces of local memory that one operation may touch.
inline constexpr std::uint32_t op_pieces_max = 16;
// Work requests of one operation at most: a read for each piece, or a write, its flush and its notification.
inline constexpr std::uint32_t op_requests_max = op_pieces_max;
static_assert(op_requests_max >= 3);

// The work requests of one operation, linked. Filled in place: they point to each other. wr_id and the signalling are
// the caller's.
struct WorkRequests {
    std::array<ibv_send_wr, op_requests_max> requests;
    std::array<ibv_sge, op_pieces_max + 2> pieces;
    std::uint32_t count = 0;
    std::uint32_t reads = 0;  // of them, reads and atomics
};

// Pieces of local memory that are no part of the operation's own.
struct SpecialPieces {
    ibv_sge notification;  // the message that tells of a put on iWARP
    ibv_sge bin;           // where a beacon is read to
    RemotePlace beacon;    // a word of the other side's that is read to see that what went before it is placed
};

// put, get and put_notify; `local` are the pieces of the operation's own memory. On iWARP a put ends with a read of
// the beacon, whose answer tells that the bytes are placed, and a put_notify sends its notification behind its bytes.
// Requires: local.size() <= op_pieces_max.
void build_rma(const na::Op& op, const RemotePlace& remote, std::span<const ibv_sge> local,
               const SpecialPieces& special, const DeviceTraits& traits, WorkRequests& out) noexcept;
// fetch_add and compare_swap; the old value goes to `cell`.
void build_atomic(const na::Op& op, const RemotePlace& remote, const ibv_sge& cell, WorkRequests& out) noexcept;
// A read of the beacon, which the other side's device answers: shows that it is there.
void build_probe(ibv_sge& bin, const RemotePlace& beacon, ibv_send_wr& out) noexcept;

// How many of a peer's credits and of the read depth an operation takes.
[[nodiscard]] bool takes_credit(const na::Op& op) noexcept;
[[nodiscard]] std::uint32_t reads_of(const na::Op& op, std::size_t pieces, const DeviceTraits& traits) noexcept;

}  // namespace cinnabar::verbs
