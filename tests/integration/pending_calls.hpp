// SPDX-License-Identifier: BSD-3-Clause
// Calls that are never answered. Records how and when each one ended, and checks that it ended once.
#pragma once

#include <cinnabar/cinnabar.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace cinnabar::test {

inline constexpr int calls_held = 1000;
// The limit, on a busy machine, for things that should take milliseconds.
inline constexpr std::chrono::seconds patience{5};

// Drives `client` until `happened`; false after `limit`, which is below the time after which tests/run_gtest ends a
// test that says nothing.
[[nodiscard]] bool drive_until(const Node& client, const std::function<bool()>& happened,
                               std::chrono::seconds limit = std::chrono::seconds(45));

class PendingCalls {
  public:
    using Clock = std::chrono::steady_clock;
    struct Each {
        Clock::time_point made;
        Clock::time_point ended;
        unsigned endings = 0;
        Errc result = Errc::ok;
    };

    // Sends `count` calls of `hang`.
    void make(const Node& client, const na::Addr& to, int count, Microseconds deadline);
    [[nodiscard]] std::size_t pending() const { return each_->size() - ended(); }
    [[nodiscard]] const std::vector<Each>& each() const { return *each_; }

    // Fails the test unless all calls end with `result`, each once, and the last at most `span` after `since`.
    void expect_to_end(const Node& client, Errc result, Clock::time_point since, Clock::duration span) const;

  private:
    [[nodiscard]] std::size_t ended() const;
    std::shared_ptr<std::vector<Each>> each_ =
        std::make_shared<std::vector<Each>>();  // shared with the calls in flight
};

}  // namespace cinnabar::test
