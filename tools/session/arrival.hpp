// SPDX-License-Identifier: BSD-3-Clause
// A client's notification that a granted buffer is full, as something to wait for. Belongs to the loop of the context
// that expects it.
#pragma once

#include "session/waiting.hpp"

#include <cinnabar/rpc/notice.hpp>

#include <coroutine>

namespace cinnabar::tools {

// Requires at its end: it was awaited, or open() failed.
class Arrival : private Waiting {
  public:
    // overloaded: too many are expected.
    [[nodiscard]] Errc open(rpc::Context& context, const na::Addr& from) noexcept {
        return notice_.expect(context, from, &Arrival::take, this);
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return notice_.value(); }
    // Whoever waits goes on with `why`, unless it came.
    void close(Errc why) noexcept { notice_.close(why); }
    [[nodiscard]] bool over() const noexcept { return over_; }

    [[nodiscard]] bool await_ready() const noexcept { return over_; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        suspend(handle);
        waited_for_ = true;
    }
    [[nodiscard]] Errc await_resume() const noexcept { return outcome; }

  private:
    static void take(Errc result, void* user) noexcept {
        auto& self = *static_cast<Arrival*>(user);
        self.over_ = true;
        self.outcome = result;
        if (self.waited_for_) self.resume(result);
    }

    rpc::Notice notice_;
    bool over_ = false;
    bool waited_for_ = false;
};

}  // namespace cinnabar::tools
