// SPDX-License-Identifier: BSD-3-Clause
// Reads the asynchronous events of a device. The device's context is shared by all ports of the process on that device,
// so whichever port reads an event passes it to the port or connection that it names. Owner of the context only.
#pragma once

#include "device.hpp"
#include "watch.hpp"

namespace cinnabar::verbs {

class DeviceWatch {
  public:
    DeviceWatch(na::PortHost& host, const Device& device) noexcept
        : device_(device), watch_(host, *this, &DeviceWatch::ready) {}

    // False, with errno, when the kernel refuses.
    [[nodiscard]] bool start() noexcept;
    void stop() noexcept { watch_.stop(); }

  private:
    void ready() noexcept;

    const Device& device_;
    Watch<DeviceWatch> watch_;
};

}  // namespace cinnabar::verbs
