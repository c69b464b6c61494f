// SPDX-License-Identifier: BSD-3-Clause
// The machine's own limits: the work of a figure done by bare system calls, each with a server process of its own.
// Frame sizes are parameters, so that a limit moves the very bytes that ours puts on the wire.
#pragma once

#include "../harness/buffers.hpp"
#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// Bytes on the wire of one call, headers included.
struct FrameBytes {
    std::size_t request;
    std::size_t reply;
};

// One message each way, one in flight, both ends spinning on non-blocking recv. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_spinning_ping_pong(Cores cores, FrameBytes frame);

// The same with both ends asleep in epoll_wait until the message comes. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_sleeping_ping_pong(Cores cores, FrameBytes frame);

// `in_flight` calls at a time, as many messages per send and recv as there are, both ends spinning. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_batched_ping_pong(Cores cores, FrameBytes frame, std::size_t in_flight);

// One record each way through a ring of shared memory with one writer, one in flight, both ends spinning: the least
// that a call in shared memory can be made of. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_ring_ping_pong(Cores cores, FrameBytes frame);

// An eventfd each way, both ends blocked in read until it is written. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_eventfd_ping_pong(Cores cores);

// What `factor` times the work of another subject and so much time for each of it would be.
[[nodiscard]] std::unique_ptr<Subject> make_allowance(std::unique_ptr<Subject> of, double factor, double seconds_each);

enum class Direction : bool { to_client, to_server };

// One stream of blocks, one read or write call for as much of a block as the socket takes, both ends spinning and each
// going round through `buffers` buffers of that size. Work: bytes that arrived.
[[nodiscard]] std::unique_ptr<Subject> make_stream(Cores cores, Direction direction, std::size_t block_bytes,
                                                   std::size_t buffers);

// memcpy of blocks, round through 8 pairs of them, by the client alone. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_memory_copy(Cores cores, std::size_t block_bytes,
                                                        Pages pages = Pages::small);

// process_vm_readv of blocks of the server's memory, round through 8 of them. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_cross_memory_copy(Cores cores, std::size_t block_bytes,
                                                              Pages pages = Pages::small);

}  // namespace cinnabar::bench
