// SPDX-License-Identifier: BSD-3-Clause
// The meaning of the device's asynchronous events, as a table. Pure: needs no device.
#pragma once

#include <cinnabar/base/error.hpp>

#include <infiniband/verbs.h>

#include <cstdint>

namespace cinnabar::verbs {

enum class DeviceAction : std::uint8_t {
    ignore,
    end_session,  // the session of the queue pair that the event names
    end_port,     // the port whose queue the event names: it has failed for good
    end_ports,    // all ports on that device: they have failed for good
    tell,         // only log it
};

struct DeviceStep {
    DeviceAction action = DeviceAction::ignore;
    Errc why = Errc::ok;
};

[[nodiscard]] DeviceStep device_step_of(ibv_event_type event, bool iwarp) noexcept;

}  // namespace cinnabar::verbs
