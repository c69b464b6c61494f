// SPDX-License-Identifier: BSD-3-Clause
#include "cm_events.hpp"

#include "rdma_library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cinnabar::verbs {
namespace {

// From the InfiniBand specification: no process listens at that service id.
constexpr int reject_no_service = 8;

bool is_dial(Stage stage) noexcept {
    return stage == Stage::resolving_address || stage == Stage::resolving_route || stage == Stage::dialling;
}

CmStep end_of(Stage stage, Errc why) noexcept {
    if (is_dial(stage)) return {CmAction::failed, why};
    if (stage == Stage::accepted || stage == Stage::open) return {CmAction::lost, why};
    return {};
}

}  // namespace

Errc connect_error(int status, Errc otherwise) noexcept {
    switch (status) {
        case reject_no_service:
        case -ECONNREFUSED:
            return Errc::refused;
        case -EHOSTUNREACH:
        case -ENETUNREACH:
        case -ENODEV:
            return Errc::unreachable;
        case -ETIMEDOUT:
            return Errc::timed_out;
        default:
            return otherwise;
    }
}

bool next_event(rdma_event_channel* channel, CmEvent& out) noexcept {
    rdma_cm_event* event = nullptr;
    if (rdma().get_cm_event(channel, &event) != 0) return false;
    const rdma_conn_param& conn = event->param.conn;
    out = {event->event, event->status, conn.responder_resources, conn.initiator_depth, event->id};
    out.bytes_count = std::min<std::size_t>(conn.private_data_len, out.bytes.size());
    if (conn.private_data) std::memcpy(out.bytes.data(), conn.private_data, out.bytes_count);
    (void)rdma().ack_cm_event(event);
    return true;
}

CmStep step_of(Stage stage, rdma_cm_event_type event, int status) noexcept {
    switch (event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return stage == Stage::resolving_address ? CmStep{CmAction::resolve_route} : CmStep{};
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            return stage == Stage::resolving_route ? CmStep{CmAction::request} : CmStep{};
        case RDMA_CM_EVENT_ESTABLISHED:
            return stage == Stage::dialling || stage == Stage::accepted ? CmStep{CmAction::established} : CmStep{};
        case RDMA_CM_EVENT_REJECTED:
            // Without a greeting: the process closed before it answered, or is not a Cinnabar peer.
            if (stage == Stage::dialling) return {CmAction::rejected, connect_error(status, Errc::peer_lost)};
            return end_of(stage, Errc::peer_lost);
        case RDMA_CM_EVENT_ADDR_ERROR:
        case RDMA_CM_EVENT_ROUTE_ERROR:
            return end_of(stage, Errc::unreachable);
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return end_of(stage, is_dial(stage) ? connect_error(status, Errc::unreachable) : Errc::peer_lost);
        case RDMA_CM_EVENT_DISCONNECTED:
            return end_of(stage, Errc::peer_lost);
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            return end_of(stage, Errc::unreachable);
        default:  // such as the end of time-wait, or a change of address: an established connection continues
            return {};
    }
}

}  // namespace cinnabar::verbs
