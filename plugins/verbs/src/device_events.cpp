// SPDX-License-Identifier: BSD-3-Clause
#include "device_events.hpp"

namespace cinnabar::verbs {

DeviceStep device_step_of(ibv_event_type event, bool iwarp) noexcept {
    switch (event) {
        case IBV_EVENT_QP_FATAL:
            // On iWARP this also reports a stream that broke during a write.
            return {DeviceAction::end_session, iwarp ? Errc::peer_lost : Errc::io};
        case IBV_EVENT_QP_REQ_ERR:
            return {DeviceAction::end_session, iwarp ? Errc::peer_lost : Errc::protocol};
        case IBV_EVENT_QP_ACCESS_ERR:  // this side refused the peer's access, and the peer's operation fails
            return {DeviceAction::end_session, Errc::peer_lost};
        case IBV_EVENT_CQ_ERR:
        case IBV_EVENT_SRQ_ERR:
            return {DeviceAction::end_port, Errc::io};
        case IBV_EVENT_DEVICE_FATAL:  // also reported for a device that is removed
            return {DeviceAction::end_ports, Errc::io};
        case IBV_EVENT_PORT_ERR:
            // The port may come back soon. Sessions end only when their retries or probes fail.
            return {DeviceAction::tell};
        default:
            return {};
    }
}

}  // namespace cinnabar::verbs
