// SPDX-License-Identifier: BSD-3-Clause
// Ends sessions whose other side has proven a key or a certificate that is no longer valid. When keys and certificates
// are renewed, all sessions are checked, a few per round, because the check of a certificate takes about 0.1 ms. Each
// session is also checked when it begins, because its handshake may have used the old keys. Owner of the context only,
// except renewed().
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/session/stream_guards.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace cinnabar::na {

// `Port` has host(), settle() and transport(); if connections have guards, transport().guards() is not null.
// `Connection` has guard(), peer(), fail(Errc) and guarded_link.
template <typename Port, typename Connection>
class WithdrawnCredentials {
  public:
    explicit WithdrawnCredentials(Port& port) noexcept : port_(port) {
        work_.user = this;
        work_.run = [](WorkItem& work) noexcept { static_cast<WithdrawnCredentials*>(work.user)->look(); };
    }

    // Call when keys and certificates have changed. Any thread, while the port is in its transport's table.
    void renewed() noexcept {
        renewed_ = true;
        // A port without connections has nothing to check, and perhaps no open context either. A connection that begins
        // meanwhile is checked against the new keys when it begins.
        if (used_) schedule();
    }
    // For connections that have a guard.
    void began(Connection& connection) noexcept {
        used_ = true;
        ++count_;
        if (is_known(connection)) return guarded_.push_back(connection);
        guarded_.push_front(connection);
        ++left_;
        schedule();
    }
    void remove(Connection& connection) noexcept {
        if (!Connections::linked(connection)) return;
        guarded_.remove(connection);
        left_ = std::min(left_, --count_);
    }

  private:
    using Connections = IntrusiveList<Connection, &Connection::guarded_link>;

    [[nodiscard]] bool is_known(const Connection& connection) const noexcept {
        return port_.transport().guards()->knows(*connection.guard());
    }
    void schedule() noexcept {
        if (!queued_.exchange(true)) port_.host().submit(work_);
    }
    void look() noexcept {
        constexpr unsigned looks_max = 8;  // per round
        queued_ = false;
        if (renewed_.exchange(false)) left_ = count_;
        for (unsigned looks = 0; looks < looks_max && left_ > 0; ++looks) {
            --left_;
            Connection& connection = *guarded_.pop_front();
            guarded_.push_back(connection);
            if (!is_known(connection)) withdraw(connection);
        }
        if (left_ > 0) schedule();
        (void)port_.settle();
    }
    void withdraw(Connection& connection) noexcept {
        if (connection.peer().ending()) return;
        static constinit LogLimit lines;
        const std::string_view scheme = port_.transport().scheme();
        const Addr& peer = connection.peer().addr();
        log_limited(lines, LogLevel::warning, LogModule::named(family_of(scheme)),
                    {peer_field(peer), transport_field(scheme), error_field(Errc::permission)},
                    "%s proved a key or certificate that was withdrawn: its session ends", peer.log_name().c_str());
        connection.fail(Errc::permission);
    }

    Port& port_;
    Connections guarded_;
    std::size_t count_ = 0;
    std::size_t left_ = 0;  // connections at the front of guarded_ that are to be checked
    std::atomic<bool> used_{false};
    std::atomic<bool> renewed_{false};
    std::atomic<bool> queued_{false};
    WorkItem work_;
};

}  // namespace cinnabar::na
