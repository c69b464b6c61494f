// SPDX-License-Identifier: BSD-3-Clause
#include "meetings.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::verbs {
namespace {

// How long a request waits at most for a dial of this side to be answered. The usual answer takes two round trips.
constexpr TimeUs wait_us = 1'000'000;

}  // namespace

Meetings::Meetings(VerbsPort& port) noexcept : port_(port) {
    alarm_.owner = this;
    alarm_.fire = &Meetings::time_out;
}

void Meetings::close() noexcept {
    port_.host().disarm(alarm_);
    waiting_.clear();
}

// Whether this side is dialling what may turn out to be that context.
bool Meetings::may_be_dialled(const na::Identity& identity, const SocketAddress& host) const noexcept {
    return port_.peers().find_if([&](const VerbsPeer& peer) {
        const Connection* dial = peer.dial;
        if (!dial || !dial->dialled() || dial->separate() || peer.remote_context() != identity.context) return false;
        if (const na::Incarnation wanted = peer.addr().body().incarnation; wanted != 0) {
            return wanted == identity.incarnation;
        }
        return peer.incarnation() == identity.incarnation || dial->remote().same_host(host);
    }) != nullptr;
}

bool Meetings::take(Incoming& incoming) {
    const na::Identity who = na::sender_of(incoming.greeting.hello);
    const SocketAddress host(::rdma_get_peer_addr(incoming.id.get()));
    if (who == port_.identity() || !may_be_dialled(who, host)) return false;
    Waiting waiting;
    waiting.who = who;
    waiting.host = host;
    waiting.until = steady_clock().now_us() + wait_us;
    if (who > port_.identity()) {
        waiting.connection = port_.answer(std::move(incoming));
        if (!waiting.connection) return true;  // gone
    } else {
        waiting.incoming = std::move(incoming);
    }
    if (!alarm_.armed()) port_.host().arm(alarm_, waiting.until);
    waiting_.push_back(std::move(waiting));
    return true;
}

bool Meetings::holds(const Connection& connection) const noexcept {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Waiting& waiting) { return waiting.connection == &connection; });
}

void Meetings::forget(const Connection& connection) noexcept {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.connection == &connection; });
}

void Meetings::dial_succeeded(const na::Identity& identity) {
    std::erase_if(waiting_, [&](Waiting& waiting) {
        if (waiting.connection || waiting.who != identity) return false;
        port_.reject(std::move(waiting.incoming), Errc::exists);
        return true;
    });
}

bool Meetings::met(VerbsPeer& peer, const na::Identity& identity) {
    const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const Waiting& waiting) { return waiting.connection && waiting.who == identity; });
    if (at == waiting_.end()) return false;
    Connection& kept = *at->connection;
    waiting_.erase(at);
    port_.await(peer, kept);
    return true;
}

template <typename Predicate>
void Meetings::let_in_if(Predicate predicate) {
    std::vector<Waiting> in;
    std::erase_if(waiting_, [&](Waiting& waiting) {
        if (!predicate(waiting)) return false;
        in.push_back(std::move(waiting));
        return true;
    });
    for (Waiting& waiting : in) {
        if (!waiting.connection) {
            (void)port_.answer(std::move(waiting.incoming));
        } else if (waiting.connection->established()) {
            port_.accept_done(*waiting.connection);
        }
    }
}

void Meetings::dial_ended() {
    let_in_if([this](const Waiting& waiting) { return !may_be_dialled(waiting.who, waiting.host); });
}

void Meetings::time_out(Timer& timer) noexcept {
    Meetings& self = TimerOf<Meetings>::owner_of(timer);
    const TimeUs now = self.port_.host().now_us();
    self.let_in_if([now](const Waiting& waiting) { return waiting.until <= now; });
    TimeUs next = time_never;
    for (const Waiting& waiting : self.waiting_) next = std::min(next, waiting.until);
    if (next != time_never && !self.alarm_.armed()) self.port_.host().arm(self.alarm_, next);
    (void)self.port_.settle();
}

}  // namespace cinnabar::verbs
