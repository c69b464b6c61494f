// SPDX-License-Identifier: BSD-3-Clause
// A coroutine of another library: it starts at once, nobody awaits it, and it has no executor.
#pragma once

#include <coroutine>
#include <exception>

namespace cinnabar::support {

struct ForeignCoroutine {
    struct promise_type {
        [[nodiscard]] ForeignCoroutine get_return_object() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };
};

}  // namespace cinnabar::support
