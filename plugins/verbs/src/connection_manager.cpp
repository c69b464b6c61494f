// SPDX-License-Identifier: BSD-3-Clause
#include "connection_manager.hpp"

#include "port.hpp"

#include <sys/epoll.h>

#include <cerrno>

namespace cinnabar::verbs {

ConnectionManager::ConnectionManager(VerbsPort& port) noexcept
    : port_(port), watch_(port.host(), *this, &ConnectionManager::ready) {}

Result<void> ConnectionManager::open() {
    CINNABAR_TRY(channel_, make_event_channel());
    if (watch_.start(channel_->fd, EPOLLIN)) return {};
    return Error(errc_from_errno(errno), "watching the connection manager", {}, errno);
}

void ConnectionManager::ready() noexcept {
    constexpr unsigned events_max = 64;  // per call
    CmEvent event;
    for (unsigned i = 0; i < events_max && next_event(channel_.get(), event); ++i) {
        // An incoming connection that was not answered yet has an id, but no Session.
        if (auto* session = static_cast<Session*>(event.id->context)) session->on_cm_event(event);
    }
    (void)port_.settle();
}

}  // namespace cinnabar::verbs
