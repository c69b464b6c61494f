// SPDX-License-Identifier: BSD-3-Clause
// Scoped contexts of a GPU driver.
#pragma once

#include "gpu_driver.hpp"

namespace cinnabar::bulk::gpu {

// While this object exists, a context is the current one of this thread.
class Current {
  public:
    Current(const Driver& of, Context context) noexcept : driver_(of) {
        if (of.device_get) knows_device_ = of.device_get(&device_) == success;
        code_ = of.context_push(context);
    }
    ~Current() {
        Context popped = nullptr;
        if (code_ == success) (void)driver_.context_pop(&popped);
        if (knows_device_) (void)driver_.device_set(device_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    [[nodiscard]] Code code() const noexcept { return code_; }

  private:
    const Driver& driver_;
    Code code_ = success;
    bool knows_device_ = false;
    DeviceNumber device_ = 0;
};

// The primary context of a device, which the runtime APIs of CUDA and HIP use.
class Primary {
  public:
    Primary(const Driver& of, DeviceNumber device) noexcept
        : driver(of), device_(device), code_(of.primary_retain(&context, device)) {}
    ~Primary() {
        if (code_ == success) (void)driver.primary_release(device_);
    }
    Primary(const Primary&) = delete;
    Primary& operator=(const Primary&) = delete;
    [[nodiscard]] Code code() const noexcept { return code_; }

    const Driver& driver;
    Context context = nullptr;

  private:
    const DeviceNumber device_;
    const Code code_;
};

}  // namespace cinnabar::bulk::gpu
