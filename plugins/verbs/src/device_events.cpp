// SPDX-License-Identifier: BSD-3-Clause
#include "device_events.hpp"

namespace cinnabar::verbs {

DeviceStep device_step_of(ibv_event_type event, bool iwarp) noexcept {
    switch (event) {
        case IBV_EVENT_QP_FATAL:
            // On iWARP also a stream that broke while it was written to.
            return {DeviceAction::end_session, iwarp ? Errc::peer_lost : Errc::io};
        case IBV_EVENT_QP_REQ_ERR:
            return {DeviceAction::end_session, iwarp ? Errc::peer_lost : Errc::protocol};
        case IBV_EVENT_QP_ACCESS_ERR:  // the peer's access is refused, which is its own operation's failure
            return {DeviceAction::end_session, Errc::peer_lost};
        case IBV_EVENT_CQ_ERR:
        case IBV_EVENT_SRQ_ERR:
            return {DeviceAction::end_port, Errc::io};
        case IBV_EVENT_DEVICE_FATAL:  // also of one that is taken out
            return {DeviceAction::end_ports, Errc::io};
        case IBV_EVENT_PORT_ERR:
            // It may come back at once. Whether a session outlives that is for the retry limits to say, and for the
            // signs of life where nothing is under way.
            return {DeviceAction::tell};
        default:
            return {};
    }
}

}  // namespace cinnabar::verbs
