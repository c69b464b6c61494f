// SPDX-License-Identifier: BSD-3-Clause
// How a connection is made and ends, as a table: what an event of the connection manager means at each stage. Pure,
// except next_event().
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
    resolving_address,  // this side dials: device and route are looked up
    resolving_route,
    dialling,  // the request is sent
    accepted,  // the other side dialled and was answered; it has not confirmed that
    open,
    draining,  // ended; the device still holds work requests
};

enum class CmAction : std::uint8_t {
    ignore,
    resolve_route,
    request,      // make the queue pair and send the request
    established,  // both sides know of the connection
    rejected,     // the other side, or its host, rejected it; the reason is in its greeting, else in `why`
    failed,       // this address cannot be reached
    lost,         // an open or accepted connection ended
};

struct CmStep {
    CmAction action = CmAction::ignore;
    Errc why = Errc::ok;
};

// A copy of an event. The event itself is acknowledged first: an id with unacknowledged events cannot be destroyed.
struct CmEvent {
    rdma_cm_event_type type = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;
    std::uint8_t reads_in = 0;   // reads that the other side wants answered
    std::uint8_t reads_out = 0;  // reads that it answers
    rdma_cm_id* id = nullptr;
    std::array<std::byte, greeting_bytes> bytes{};
    std::size_t bytes_count = 0;

    [[nodiscard]] ConstBytes private_data() const noexcept { return ConstBytes(bytes).first(bytes_count); }
};
// The next event of a channel. False when there is none.
[[nodiscard]] bool next_event(rdma_event_channel* channel, CmEvent& out) noexcept;

// The error of a failed connect. `status` is a reject reason of InfiniBand, or a negative errno.
[[nodiscard]] Errc connect_error(int status, Errc otherwise) noexcept;

// How much of the time that is left the next of so many addresses may use: a silent one must not use up the time of the
// others.
[[nodiscard]] constexpr TimeUs share_of(TimeUs left, std::size_t places) noexcept {
    return left / std::max<std::size_t>(places, 1);
}

[[nodiscard]] CmStep step_of(Stage stage, rdma_cm_event_type event, int status) noexcept;

}  // namespace cinnabar::verbs
