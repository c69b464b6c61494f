// SPDX-License-Identifier: BSD-3-Clause
// A timer with a typed pointer to the object that it belongs to.
#pragma once

#include <cinnabar/base/timer_wheel.hpp>

namespace cinnabar {

template <typename T>
struct TimerOf : WheelTimer {
    T* owner = nullptr;
    [[nodiscard]] static T& owner_of(WheelTimer& timer) noexcept { return *static_cast<TimerOf&>(timer).owner; }
    // Makes `object` the owner, and the timer call `Function` of it.
    template <void (T::*Function)() noexcept>
    void bind(T& object) noexcept {
        owner = &object;
        fire = [](WheelTimer& timer) noexcept { (owner_of(timer).*Function)(); };
    }
};

}  // namespace cinnabar
