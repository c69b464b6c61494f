// SPDX-License-Identifier: BSD-3-Clause
#include "ticket_cache.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::tls {

void TicketCache::keep(const na::SocketAddress& server, Ticket ticket) noexcept {
    const std::lock_guard lock(mutex_);
    const auto is_of_server = [&](const Entry& entry) { return entry.server == server; };
    if (std::ranges::count_if(entries_, is_of_server) >= std::ptrdiff_t{tickets_of_address_max}) {
        entries_.erase(std::ranges::find_if(entries_, is_of_server));
    } else if (entries_.size() >= tickets_max) {
        entries_.pop_front();
    }
    try {
        entries_.push_back({server, std::move(ticket)});
    } catch (const std::bad_alloc&) {  // then the next handshake is a full one
        return;
    }
}

TicketCache::Ticket TicketCache::take(const na::SocketAddress& server) noexcept {
    const std::lock_guard lock(mutex_);
    const auto newest =
        std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) { return entry.server == server; });
    if (newest == entries_.rend()) return nullptr;
    Ticket ticket = std::move(newest->ticket);
    entries_.erase(std::next(newest).base());
    return ticket;
}

std::size_t TicketCache::size() const noexcept {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

}  // namespace cinnabar::tls
