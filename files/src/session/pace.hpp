// SPDX-License-Identifier: BSD-3-Clause
// Limits how many windows of a session are in transfer at once. All windows share one link and each has a deadline, so
// the number that fills a fast link would make all of them late on a slow one. The limit starts at one, grows by one
// for each fast window, and is halved by a slow one. Belongs to the loop.
#pragma once

#include "session/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

namespace cinnabar::files {

class Pace {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds fast{1};  // a window that takes at most this long raises the limit by one
    static constexpr std::chrono::seconds slow{5};  // a window that takes longer than this halves the limit

    explicit Pace(std::uint32_t most) noexcept : most_(most) {}
    ~Pace() { CINNABAR_ASSERT(waiting_.empty()); }
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;

    // Permission to transfer one window; held for the duration of the transfer.
    class Pass {
      public:
        explicit Pass(Pace& pace) noexcept : pace_(pace), begun_(Clock::now()) {}
        ~Pass() { pace_.ended(Clock::now() - begun_); }
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

      private:
        Pace& pace_;
        const Clock::time_point begun_;
    };

    struct Take : Waiting {
        Pace* pace;
        explicit Take(Pace& from) noexcept : pace(&from) {}
        [[nodiscard]] bool await_ready() noexcept {
            if (pace->under_way_ >= pace->allowed_ || !pace->waiting_.empty()) return false;
            ++pace->under_way_;
            return true;
        }
        template <typename Promise>
        void await_suspend(std::coroutine_handle<Promise> handle) {
            suspend(handle);
            pace->waiting_.push_back(this);
        }
        [[nodiscard]] Pass await_resume() const noexcept { return Pass(*pace); }
    };
    // Awaits a Pass, in FIFO order. Every window has a deadline, so every wait ends.
    [[nodiscard]] Take take() noexcept { return Take(*this); }

    [[nodiscard]] std::uint32_t allowed() const noexcept { return allowed_; }
    // Called at the end of each Pass.
    void ended(Clock::duration took) noexcept {
        --under_way_;
        if (took <= fast) {
            allowed_ = std::min(allowed_ + 1, most_);
        } else if (took > slow) {
            allowed_ = std::max(allowed_ / 2, 1u);
        }
        while (under_way_ < allowed_ && !waiting_.empty()) {
            ++under_way_;
            Take* const next = waiting_.front();
            waiting_.pop_front();
            next->resume(Errc::ok);
        }
    }

  private:
    const std::uint32_t most_;
    std::uint32_t allowed_ = 1;
    std::uint32_t under_way_ = 0;
    std::deque<Take*> waiting_;
};

}  // namespace cinnabar::files
