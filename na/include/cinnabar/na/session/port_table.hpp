// SPDX-License-Identifier: BSD-3-Clause
// Which context has which port of a transport; incoming connections find the context that they mean. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace cinnabar::na {

// An OwnPort has host(), inbox() and session_count(), and its incoming connections have `greeting.hello`.
template <typename OwnPort>
class PortTable {
  public:
    // exists: that context has a port; too_large: contexts_max.
    [[nodiscard]] Result<void> add(OwnPort& port, const TransportOptions& options) {
        const ContextId context = port.host().context_id();
        const std::lock_guard lock(mutex_);
        if (ports_.contains(context)) return Error(Errc::exists, "that context id is open already");
        if (ports_.size() >= options.contexts_max) return Error(Errc::too_large, "contexts_max are open already");
        ports_.emplace(context, &port);
        spread_ = options.spread;
        return {};
    }
    // Also of a port that was never added.
    void remove(const OwnPort& port) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = ports_.find(port.host().context_id());
        if (at != ports_.end() && at->second == &port) ports_.erase(at);
    }
    // Names the context in a Hello that names none: with TransportOptions::spread the one with the fewest sessions,
    // those that wait in its inbox counted, in turn where several have as few; otherwise 0. One whose inbox is full is
    // passed over while there is another.
    void choose(Hello& hello) noexcept {
        if (hello.peer_context != any_context) return;
        hello.peer_context = 0;
        const std::lock_guard lock(mutex_);
        if (!spread_) return;
        std::size_t fewest = std::numeric_limits<std::size_t>::max();
        ContextId nearest = 0;
        for (const auto& [context, port] : ports_) {
            const std::size_t waiting = port->inbox().waiting();
            const std::size_t sessions = port->session_count() + waiting;
            const auto distance = static_cast<ContextId>(context - last_chosen_ - 1);
            if (waiting >= port->inbox().waiting_max) continue;
            if (sessions > fewest || (sessions == fewest && distance > nearest)) continue;
            fewest = sessions;
            nearest = distance;
            hello.peer_context = context;
        }
        last_chosen_ = hello.peer_context;
    }
    // Moves an incoming connection to the inbox of the context that it means, in whatever thread that lives.
    // unreachable: there is none, or `prepare(port)` says no; overloaded: as many wait there as may, or memory is out.
    // Then the connection is as it was, but for what prepare() did.
    template <typename Incoming, typename Prepare>
    [[nodiscard]] Errc hand_over(Incoming& incoming, Prepare&& prepare) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = ports_.find(incoming.greeting.hello.peer_context);
        if (at == ports_.end()) return Errc::unreachable;
        OwnPort& port = *at->second;
        if (port.inbox().full()) return Errc::overloaded;
        if (!prepare(port)) return Errc::unreachable;
        if (!port.inbox().put(incoming)) return Errc::overloaded;
        port.host().wake();
        return Errc::ok;
    }
    template <typename Incoming>
    [[nodiscard]] Errc hand_over(Incoming& incoming) noexcept {
        return hand_over(incoming, [](OwnPort&) { return true; });
    }
    [[nodiscard]] bool empty() const noexcept {
        const std::lock_guard lock(mutex_);
        return ports_.empty();
    }
    template <typename F>
    void each(F&& visit) const noexcept {
        const std::lock_guard lock(mutex_);
        for (const auto& [context, port] : ports_) visit(*port);
    }

    // Visits one of them, if there is any.
    template <typename F>
    bool with_any(F&& visit) const noexcept {
        const std::lock_guard lock(mutex_);
        if (ports_.empty()) return false;
        visit(*ports_.begin()->second);
        return true;
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<ContextId, OwnPort*> ports_;
    bool spread_ = false;
    ContextId last_chosen_ = any_context;
};

}  // namespace cinnabar::na
