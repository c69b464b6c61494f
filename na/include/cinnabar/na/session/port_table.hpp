// SPDX-License-Identifier: BSD-3-Clause
// The ports of a transport by context id: an incoming connection finds the context that it asks for. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/side_context.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace cinnabar::na {

// OwnPort has host(), inbox() and session_count(); its incoming connections have `greeting.hello`.
template <typename OwnPort>
class PortTable {
  public:
    // exists: a port of that context was added already; too_large: contexts_max.
    [[nodiscard]] Result<void> add(OwnPort& port, const TransportOptions& options) {
        const ContextId context = port.host().context_id();
        const std::lock_guard lock(mutex_);
        if (ports_.contains(context)) return Error(Errc::exists, "that context id is open already");
        if (ports_.size() >= options.contexts_max)
            return Error(Errc::too_large, "contexts_max contexts are open already");
        ports_.emplace(context, &port);
        spread_ = options.spread;
        return {};
    }
    // Does nothing for a port that was not added.
    void remove(const OwnPort& port) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = ports_.find(port.host().context_id());
        if (at != ports_.end() && at->second == &port) ports_.erase(at);
    }
    // Sets the context in a Hello that names none. With TransportOptions::spread, choose() sets the context with the
    // fewest sessions (including those in its inbox) among those whose inbox is not full; on a tie, contexts take
    // turns. Without `spread`, or if all inboxes are full, it sets context 0. It never sets side_context.
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
            if (waiting >= port->inbox().waiting_max || context == side_context) continue;
            if (sessions > fewest || (sessions == fewest && distance > nearest)) continue;
            fewest = sessions;
            nearest = distance;
            hello.peer_context = context;
        }
        last_chosen_ = hello.peer_context;
    }
    // Moves an incoming connection to the inbox of the context that it asks for; that context may be driven by another
    // thread. unreachable: there is no such context, or prepare(port) returned false; overloaded: the inbox is full, or
    // out of memory. On an error the connection is unchanged, except for what prepare() did.
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

    // Calls `visit` with one of the ports; false: there is none.
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
