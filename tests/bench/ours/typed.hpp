// SPDX-License-Identifier: BSD-3-Clause
// Typed calls between two nodes of two processes, as a program makes them: from tasks, to a handler of each kind.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar::bench {

// Each echoes 64 bytes.
enum class Handler : std::uint8_t {
    plain,      // a function on the loop, of a trivial type
    coroutine,  // a task that only returns
    pooled,     // a function on a pool of 4 threads
    strings,    // a function on the loop, of a string
};

// `in_flight` tasks, each with one call after the other. Nodes as they are opened by default; `traced_one_in`: one in
// so many calls begins a trace, whose spans both sides write into a file. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_typed_calls(Cores cores, Wire wire, Handler handler, std::size_t in_flight,
                                                        std::uint32_t traced_one_in = 0);

}  // namespace cinnabar::bench
