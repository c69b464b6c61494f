// SPDX-License-Identifier: BSD-3-Clause
// What an asynchronous event of the device means, as a table. Pure: needs no device.
#pragma once

#include <cinnabar/base/error.hpp>

#include <infiniband/verbs.h>

#include <cstdint>

namespace cinnabar::verbs {

enum class DeviceAction : std::uint8_t {
    ignore,
    end_session,  // of the queue pair that it names, for `why`
    end_port,     // whose queue it names, for good: all sessions, and those to come
    end_ports,    // all on that device, for good
    tell,         // in the log
};

struct DeviceStep {
    DeviceAction action = DeviceAction::ignore;
    Errc why = Errc::ok;
};

[[nodiscard]] DeviceStep device_step_of(ibv_event_type event, bool iwarp) noexcept;

}  // namespace cinnabar::verbs
