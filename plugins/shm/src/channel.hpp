// SPDX-License-Identifier: BSD-3-Clause
// What a session has after the handshake: the socket, the two rings, the bell that wakes the peer, and, if this process
// may copy across address spaces, the peer's lease board.
#pragma once

#include "flags.hpp"
#include "outgoing_ring.hpp"
#include "peer_files.hpp"
#include "peer_process.hpp"
#include "transport.hpp"

#include <memory>

namespace cinnabar::shm {

struct Channel {
    PeerFd socket;
    Segment incoming_ring;                        // the peer writes it
    std::shared_ptr<OutgoingRing> outgoing_ring;  // this side writes it; shared with mappings for direct access
    PeerFd bell;  // the peer's eventfd; empty for another user's process, whose descriptor could make this side block
    OwnFlag own_flag;    // the peer raises it
    PeerFlag peer_flag;  // this side raises it; empty if the peer gave none
    BoardView board;
    na::Hello hello;  // the peer's
    std::uint32_t outgoing_ring_bytes = 0;
    std::uint32_t outgoing_record_bytes_max = 0;
    std::uint32_t board_slots = 0;
    Credentials credentials;
    PeerProcess process;  // open if `copies`
    PeerFiles files;
    bool copies = false;  // a probe has proven that this process may read and write the peer's memory
};

// Maps the memory whose descriptors arrived with the greeting. The caller then adds the incoming ring, its own flag,
// and the socket. protocol: a descriptor is not of the expected kind; out_of_memory.
[[nodiscard]] Errc open_channel(const ShmTransport& transport, Incoming& from, Channel& out) noexcept;

// Makes a ring of this transport's size, which the peer will write; `fd` gets its descriptor.
[[nodiscard]] Errc make_incoming_ring(const ShmTransport& transport, Segment& out, UniqueFd& fd) noexcept;

}  // namespace cinnabar::shm
