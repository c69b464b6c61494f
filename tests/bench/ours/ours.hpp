// SPDX-License-Identifier: BSD-3-Clause
// Our side of each figure, with a server process of its own. Contexts are opened for many threads.
#pragma once

#include "../harness/subject.hpp"
#include "../limits/limits.hpp"
#include "endpoint.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// A bulk transfer in each of `in_flight` slots, memory to memory, from the server (pull) or to it (push), with as many
// buffers in turn as there are slots. Each buffer has `segments` pieces with gaps between them. Work: bytes.
struct BulkShape {
    Direction direction;
    std::size_t buffer_bytes;
    std::size_t segments;
    std::size_t in_flight;
    Wire wire = Wire::tcp;
    bool allocated = false;  // memory allocated by the library, in one segment
};
[[nodiscard]] std::unique_ptr<Subject> make_our_bulk(Cores cores, const BulkShape& shape);

// Calls of an echo at the rpc layer, with `payload_bytes` in each direction, `in_flight` at a time. Work: calls.
struct RpcShape {
    std::size_t payload_bytes;
    std::size_t in_flight;
    bool sleep;  // spin budget 0 on both sides; otherwise both poll all the time
    Wire wire = Wire::tcp;
};
[[nodiscard]] std::unique_ptr<Subject> make_our_rpc(Cores cores, const RpcShape& shape);

}  // namespace cinnabar::bench
