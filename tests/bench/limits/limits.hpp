// SPDX-License-Identifier: BSD-3-Clause
// The limits of the machine: the work of a figure done with bare system calls, each with a server process of its own.
// Frame sizes are parameters, so that a limit moves exactly the bytes that our side puts on the wire.
#pragma once

#include "../harness/buffers.hpp"
#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// The bytes of one call on the wire, including headers.
struct FrameBytes {
    std::size_t request;
    std::size_t reply;
};

// One message in each direction, one in flight. Both ends spin on non-blocking recv. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_spinning_ping_pong(Cores cores, FrameBytes frame);

// The same, but both ends sleep in epoll_wait until the message arrives. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_sleeping_ping_pong(Cores cores, FrameBytes frame);

// `in_flight` calls at a time, with as many messages per send and recv as there are. Both ends spin. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_batched_ping_pong(Cores cores, FrameBytes frame, std::size_t in_flight);

// One record in each direction through a ring in shared memory with a single writer, one in flight. Both ends spin.
// This is the minimum for a call in shared memory. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_ring_ping_pong(Cores cores, FrameBytes frame);

// One eventfd in each direction; both ends block in read until it is written. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_eventfd_ping_pong(Cores cores);

// `factor` times the time of another subject, plus `seconds_each` for each piece of work.
[[nodiscard]] std::unique_ptr<Subject> make_allowance(std::unique_ptr<Subject> of, double factor, double seconds_each);

enum class Direction : bool { to_client, to_server };

// One stream of blocks, with one read or write call for as much of a block as the socket takes. Both ends spin and use
// `buffers` buffers of the block size in turn. Work: bytes that arrived.
[[nodiscard]] std::unique_ptr<Subject> make_stream(Cores cores, Direction direction, std::size_t block_bytes,
                                                   std::size_t buffers);

// memcpy of blocks by the client alone, with 8 pairs of blocks in turn. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_memory_copy(Cores cores, std::size_t block_bytes,
                                                        Pages pages = Pages::small);

// process_vm_readv of blocks of the server's memory, with 8 blocks in turn. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_cross_memory_copy(Cores cores, std::size_t block_bytes,
                                                              Pages pages = Pages::small);

}  // namespace cinnabar::bench
