// SPDX-License-Identifier: BSD-3-Clause
// Reads the asynchronous events of a device. All ports of the process on a device share its context, so the port that
// reads an event passes it to the port or session that the event is about. Owner of the context only.
#pragma once

#include "device.hpp"

#include <cinnabar/na/session/fd_watch.hpp>

namespace cinnabar::verbs {

class DeviceWatch {
  public:
    DeviceWatch(na::PortHost& host, const Device& device) noexcept
        : device_(device), watch_(host, *this, &DeviceWatch::ready) {}

    // False, with errno: the kernel refused.
    [[nodiscard]] bool start() noexcept;
    void stop() noexcept { watch_.stop(); }

  private:
    void ready() noexcept;

    const Device& device_;
    na::FdWatch<DeviceWatch> watch_;
};

}  // namespace cinnabar::verbs
