// SPDX-License-Identifier: BSD-3-Clause
// Options of one call: deadline, stop token, provider, context. A plain value.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <optional>
#include <stop_token>
#include <type_traits>

namespace cinnabar::hl {

struct TraceContext;  // trace.hpp

inline constexpr Microseconds default_deadline{30'000'000};
// The call may take for ever. It must be named: a call without a deadline has that of its task, or default_deadline.
inline constexpr Microseconds no_deadline = Microseconds::max();

// Must stay trivially destructible: g++ 12 destroys temporaries that are written in braces inside a co_await twice.
struct CallOptions {
    // How long the call may take, from its start: covers queueing, connecting, transfer, the handler and the reply.
    // Unset: until the deadline of the enclosing task (in a handler: the caller's deadline); outside of tasks with a
    // deadline, default_deadline. In any case the call ends no later than the task's deadline.
    std::optional<Microseconds> deadline = {};
    const std::stop_token* stop = nullptr;  // in addition to the enclosing task's; copied by Node::call
    rpc::ProviderId provider = 0;           // which of several services with the same RPCs
    // The index of the context that makes the call. Unset: the context of the current loop thread or, on other threads,
    // the first context. A call over an accepted connection always uses the context that has the connection.
    std::optional<unsigned> context = {};
    // The trace and span that this call belongs to; copied by Node::call. Unset: those of the handler or task.
    const TraceContext* trace = nullptr;
};
static_assert(std::is_trivially_destructible_v<CallOptions>);

}  // namespace cinnabar::hl
