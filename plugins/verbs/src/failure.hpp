// SPDX-License-Identifier: BSD-3-Clause
// Failures of a port that asynchronous events of the device have reported: broken sessions, or a port that has
// failed for good. Any thread, except end_sessions(): owner of the context.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>

namespace cinnabar::verbs {

class VerbsPort;

class Failure {
  public:
    explicit Failure(na::PortHost& host) noexcept : host_(host) {}

    // Call it after setting Session::broken.
    void session_broke() noexcept {
        pending_.store(true, std::memory_order_seq_cst);
        host_.wake();
    }
    // Call when the port's queue or device has failed for good: all sessions end, and no session begins.
    void fail(Errc why) noexcept {
        Errc none = Errc::ok;
        if (why_.compare_exchange_strong(none, why)) session_broke();
    }
    // Why the port has failed; ok: it has not.
    [[nodiscard]] Errc why() const noexcept { return why_.load(std::memory_order_acquire); }
    // Whether end_sessions() has something to do. Sequentially consistent, so that a context about to sleep sees it.
    [[nodiscard]] bool pending() const noexcept { return pending_.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool seems_pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
    // Ends the broken sessions and dials; returns how many.
    unsigned end_sessions(VerbsPort& port) noexcept;

  private:
    na::PortHost& host_;
    std::atomic<bool> pending_{false};
    std::atomic<Errc> why_{Errc::ok};
};

}  // namespace cinnabar::verbs
