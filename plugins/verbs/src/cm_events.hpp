// SPDX-License-Identifier: BSD-3-Clause
// How a session begins and ends, as a table: the meaning of each event of the connection manager at each stage.
// Pure, except next_event().
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cinnabar::verbs {

enum class Stage : std::uint8_t {
    closed,             // not in use
    resolving_address,  // this side dials: looking up device and route
    resolving_route,
    dialling,  // the connection request was sent
    accepted,  // this side answered an incoming connection, and the other side has not confirmed
    open,
    draining,  // ended, but the device still has work requests of it
};

enum class CmAction : std::uint8_t {
    ignore,
    resolve_route,
    request,      // create the queue pair and send the request
    established,  // both sides have confirmed the connection
    rejected,  // the other side or its host rejected it; the reason is in the other side's greeting, or else in `why`
    failed,    // this address is unreachable
    lost,      // an open or accepted connection was lost
};

struct CmStep {
    CmAction action = CmAction::ignore;
    Errc why = Errc::ok;
};

// A copy of an event. The event itself is acknowledged at once, because an id with unacknowledged events cannot be
// destroyed.
struct CmEvent {
    rdma_cm_event_type type = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;
    std::uint8_t reads_in = 0;   // reads at a time that the other side wants answered
    std::uint8_t reads_out = 0;  // reads at a time that the other side answers
    rdma_cm_id* id = nullptr;
    std::array<std::byte, greeting_bytes> bytes{};
    std::size_t bytes_count = 0;

    [[nodiscard]] ConstBytes private_data() const noexcept { return ConstBytes(bytes).first(bytes_count); }
};
// Takes the next event of a channel. False: there is none.
[[nodiscard]] bool next_event(rdma_event_channel* channel, CmEvent& out) noexcept;

// The error code for a failed connect. `status` is a reject reason of InfiniBand, or a negative errno.
[[nodiscard]] Errc connect_error(int status, Errc otherwise) noexcept;

// How much of the remaining time the next one of `addresses` may use: a silent address must not use up the time of
// the others.
[[nodiscard]] constexpr TimeUs share_of(TimeUs left, std::size_t addresses) noexcept {
    return left / std::max<std::size_t>(addresses, 1);
}

[[nodiscard]] CmStep step_of(Stage stage, rdma_cm_event_type event, int status) noexcept;

}  // namespace cinnabar::verbs
