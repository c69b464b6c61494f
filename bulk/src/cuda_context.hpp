// SPDX-License-Identifier: BSD-3-Clause
// Contexts of NVIDIA's driver, held by scopes.
#pragma once

#include "cuda_driver.hpp"

namespace cinnabar::bulk::cuda {

// Makes a context the current one of this thread for its lifetime.
class Current {
  public:
    Current(const Driver& of, Context context) noexcept : driver_(of), code_(of.context_push(context)) {}
    ~Current() {
        Context popped = nullptr;
        if (code_ == success) (void)driver_.context_pop(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    [[nodiscard]] Code code() const noexcept { return code_; }

  private:
    const Driver& driver_;
    const Code code_;
};

// The primary context of a device, which CUDA's runtime API uses.
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

}  // namespace cinnabar::bulk::cuda
