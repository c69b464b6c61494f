// SPDX-License-Identifier: BSD-3-Clause
// Typed calls between two nodes in two processes, made as in a program: from tasks, to a handler of each kind.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <cinnabar/hl/span_exporter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar::bench {

// Each handler echoes 64 bytes.
enum class Handler : std::uint8_t {
    plain,      // a function on the loop, with a trivial type
    coroutine,  // a task that only returns
    pooled,     // a function on a pool of 4 threads
    strings,    // a function on the loop, with a string
};

// `in_flight` tasks, each of which makes one call after the other. Nodes have default options. With `traces.one_in`,
// both sides write spans to a file. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_typed_calls(Cores cores, Wire wire, Handler handler, std::size_t in_flight,
                                                        const hl::SpanExporterOptions& traces = {.one_in = 0});

}  // namespace cinnabar::bench
