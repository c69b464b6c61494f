// SPDX-License-Identifier: BSD-3-Clause
// What asynchronous events of the device have told about a port: that connections are broken, or that the whole port
// has failed for good. Any thread, except end_sessions(): owner of the context.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>

namespace cinnabar::verbs {

class VerbsPort;

class Failure {
  public:
    explicit Failure(na::PortHost& host) noexcept : host_(host) {}

    // Connection::broken was set.
    void connection_broke() noexcept {
        pending_.store(true, std::memory_order_seq_cst);
        host_.wake();
    }
    // The port's queue or device has failed and will not recover: all sessions end, and none begins.
    void fail(Errc why) noexcept {
        Errc none = Errc::ok;
        if (why_.compare_exchange_strong(none, why)) connection_broke();
    }
    // Why the port has failed; ok: it has not.
    [[nodiscard]] Errc why() const noexcept { return why_.load(std::memory_order_acquire); }
    // end_sessions() has something to do. seq_cst: pairs with the wake of a context that is about to sleep.
    [[nodiscard]] bool pending() const noexcept { return pending_.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool seems_pending() const noexcept { return pending_.load(std::memory_order_relaxed); }
    // Ends the sessions and dials that are broken; returns how many.
    unsigned end_sessions(VerbsPort& port) noexcept;

  private:
    na::PortHost& host_;
    std::atomic<bool> pending_{false};
    std::atomic<Errc> why_{Errc::ok};
};

}  // namespace cinnabar::verbs
