// SPDX-License-Identifier: BSD-3-Clause
// What an asynchronous event of the device means, as a table. Pure: needs no device.
#pragma once

#include <cinnabar/base/error.hpp>

#include <infiniband/verbs.h>

#include <cstdint>

namespace cinnabar::verbs {

enum class DeviceAction : std::uint8_t {
    ignore,
    end_session,  // of the queue pair that it names
    end_port,     // the port whose queue it names has failed for good
    end_ports,    // all ports on that device have failed for good
    tell,         // a line in the log
};

struct DeviceStep {
    DeviceAction action = DeviceAction::ignore;
    Errc why = Errc::ok;
};

[[nodiscard]] DeviceStep device_step_of(ibv_event_type event, bool iwarp) noexcept;

}  // namespace cinnabar::verbs
