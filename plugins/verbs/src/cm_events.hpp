// SPDX-License-Identifier: BSD-3-Clause
// How a connection is made and ends, as a table: what an event of the connection manager means at each stage. Pure:
// needs no device, but for next_event().
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
    resolving_address,  // this side dials: which device, which route
    resolving_route,
    dialling,  // the request is out
    accepted,  // the other side dialled and was answered; it has not shown that it knows
    open,
    draining,  // over; the device still holds work requests
};

enum class CmAction : std::uint8_t {
    ignore,
    resolve_route,
    request,      // make the queue pair, send the request
    established,  // both sides know
    rejected,     // the other side, or its host, said no: its greeting may say why, else `why` does
    failed,       // this way does not lead there, for `why`
    lost,         // it was open, or about to be
};

struct CmStep {
    CmAction action = CmAction::ignore;
    Errc why = Errc::ok;
};

// One event, copied, so that it can be given back before anything is done about it: an id whose events are out cannot
// be destroyed.
struct CmNews {
    rdma_cm_event_type type = RDMA_CM_EVENT_TIMEWAIT_EXIT;
    int status = 0;
    std::uint8_t reads_in = 0;   // reads that the other side wants answered
    std::uint8_t reads_out = 0;  // reads that it answers
    rdma_cm_id* id = nullptr;
    std::array<std::byte, greeting_bytes> bytes{};
    std::size_t bytes_count = 0;

    [[nodiscard]] ConstBytes private_data() const noexcept { return ConstBytes(bytes).first(bytes_count); }
};
// The next of a channel; false when there is none.
[[nodiscard]] bool next_event(rdma_event_channel* channel, CmNews& out) noexcept;

// What a failed connect means: `status` is a reject reason of InfiniBand, or an errno below 0.
[[nodiscard]] Errc connect_error(int status, Errc otherwise) noexcept;

// What the next of so many places may take of the time that is left: one that says nothing leaves the others theirs.
[[nodiscard]] constexpr TimeUs share_of(TimeUs left, std::size_t places) noexcept {
    return left / std::max<std::size_t>(places, 1);
}

[[nodiscard]] CmStep step_of(Stage stage, rdma_cm_event_type event, int status) noexcept;

}  // namespace cinnabar::verbs
