// SPDX-License-Identifier: BSD-3-Clause
// Awaits the notification that a client sends after it has filled a granted buffer. Belongs to the loop of the context
// that expects the notification.
#pragma once

#include "session/waiting.hpp"

#include <cinnabar/rpc/notice.hpp>

#include <coroutine>

namespace cinnabar::files {

// May be destroyed after it was awaited or if open() failed.
class Arrival : private Waiting {
  public:
    // overloaded: the context expects too many notifications.
    [[nodiscard]] Errc open(rpc::Context& context, const na::Addr& from) noexcept {
        return notice_.expect(context, from, &Arrival::take, this);
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return notice_.value(); }
    // Resumes the waiting task with `why`, unless the notification has arrived.
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

}  // namespace cinnabar::files
