// SPDX-License-Identifier: BSD-3-Clause
// What a session is made of once both greetings are there: the socket, the two rings, the way to wake the peer, and,
// where this process may copy across address spaces, the peer's lease board.
#pragma once

#include "peer_files.hpp"
#include "peer_process.hpp"
#include "transport.hpp"

namespace cinnabar::shm {

struct Channel {
    PeerFd socket;
    Segment own_ring;   // that the peer writes into
    Segment peer_ring;  // that this side writes into
    PeerFd bell;        // the peer's eventfd; empty where another user's descriptor could make this side wait
    BoardView board;
    na::Hello hello;  // the peer's
    std::uint32_t peer_ring_bytes = 0;
    std::uint32_t peer_record_bytes_max = 0;
    std::uint32_t board_slots = 0;
    Credentials credentials;
    PeerProcess process;  // where `copies`
    PeerFiles files;
    bool copies = false;  // a probe has shown that this process may read the peer's memory, and so write it
};

// Maps what the sender of the greeting handed over; own ring and socket are added by others. protocol: nonsense;
// out_of_memory.
[[nodiscard]] Errc open_channel(const ShmTransport& transport, Incoming& from, Channel& out) noexcept;

// A ring of this transport's sizes, and its descriptor.
[[nodiscard]] Errc make_ring(const ShmTransport& transport, Segment& out, UniqueFd& fd) noexcept;

}  // namespace cinnabar::shm
