// SPDX-License-Identifier: BSD-3-Clause
// Calls of one server from many clients at the same time.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// Calls of an echo at the rpc layer. Each client has a connection of its own, and `in_flight` calls at a time; all of
// them are in this process, on one thread. Both sides poll. Work: calls.
struct CallersShape {
    std::size_t clients;
    std::size_t in_flight;
    std::size_t payload_bytes;
    Wire wire;
};

// The clients connect in the first slice, so that the servers of several subjects are forked before the descriptors of
// any client are open. The process must be allowed descriptors_of_a_caller() for each client.
[[nodiscard]] std::unique_ptr<Subject> make_many_callers(Cores cores, const CallersShape& shape);

// Of each side, rounded up.
[[nodiscard]] std::size_t descriptors_of_a_caller(Wire wire) noexcept;

}  // namespace cinnabar::bench
