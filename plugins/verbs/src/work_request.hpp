// SPDX-License-Identifier: BSD-3-Clause
// Converts operations to work requests of a queue pair. Pure.
#pragma once

#include "lease_key.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>

namespace cinnabar::verbs {

// Properties of the device and its kind of fabric.
struct DeviceTraits {
    bool iwarp = false;  // a write completes when it is sent, not when it is placed, and there is no immediate data
    bool picks_addresses = false;         // a lease can be registered under another address than its memory has
    bool lets_go_late = false;            // deregistering returns while bytes are still being placed
    bool garbles_short_messages = false;  // see short_message_bytes_max
    bool atomics = false;
    bool windows = false;               // a key of lent memory can be bound to the connection of one peer (window.hpp)
    std::uint32_t send_pieces_max = 1;  // scatter-gather entries per write
    std::uint32_t read_pieces_max = 1;  // per read
    std::uint32_t read_depth_max = 1;   // reads and atomics at a time on one session, per direction
    std::size_t rma_bytes_max = 0;
    std::uint64_t registration_bytes_max = ~std::uint64_t{0};
    std::uint32_t connections_max = ~std::uint32_t{0};
};

// The maximum length of the messages that siw, a software driver, copies into the packet if they have only one piece.
// If the piece lies on two pages, siw copies wrong bytes (siw_try_1seg of Linux, at least up to 6.12). So a read of
// such a piece is made as two reads, and a write carries its bytes inline.
inline constexpr std::uint32_t short_message_bytes_max = 32;

// The maximum number of pieces of local memory in one operation.
inline constexpr std::uint32_t op_pieces_max = 16;
// The maximum number of work requests of one operation: a read for each piece, or a write with its notification and the
// read after it. Devices that garble short messages take half as many pieces, since a piece may need two reads.
inline constexpr std::uint32_t op_requests_max = op_pieces_max;
static_assert(op_requests_max >= 3);

// The work requests of one operation. They are linked to each other, so they are filled in place. The caller sets wr_id
// and the signalling.
struct WorkRequests {
    std::array<ibv_send_wr, op_requests_max> requests;
    std::array<ibv_sge, op_pieces_max + 2> pieces;
    std::uint32_t count = 0;
    std::uint32_t reads = 0;  // reads and atomics among them
};

// Pieces of local memory other than the operation's.
struct SpecialPieces {
    ibv_sge notification;  // on iWARP: the message with the notification of a put
    ibv_sge bin;           // receives the word that is read from the beacon
    RemoteAddress beacon;  // a word of the other side's; an answer to reading it shows that earlier writes are placed
};

// Builds a put, get or put_notify; `local` are the pieces of the operation's memory. On iWARP a put ends with a read of
// the beacon, whose answer shows that the bytes are placed, and a put_notify sends its notification after its bytes.
// Requires: local.size() <= op_pieces_max.
void build_rma(const na::Op& op, const RemoteAddress& remote, std::span<const ibv_sge> local,
               const SpecialPieces& special, const DeviceTraits& traits, WorkRequests& out) noexcept;
// Builds a fetch_add or compare_swap; `cell` receives the old value.
void build_atomic(const na::Op& op, const RemoteAddress& remote, const ibv_sge& cell, WorkRequests& out) noexcept;
// Builds a read of the beacon; the answer shows that the other side's device is alive.
void build_probe(ibv_sge& bin, const RemoteAddress& beacon, ibv_send_wr& out) noexcept;

// Whether an operation uses a credit; how many reads it adds to those that the read depth limits.
[[nodiscard]] bool takes_credit(const na::Op& op) noexcept;
[[nodiscard]] std::uint32_t reads_of(const na::Op& op, const RemoteAddress& remote, std::span<const ibv_sge> local,
                                     const DeviceTraits& traits) noexcept;

}  // namespace cinnabar::verbs
