// SPDX-License-Identifier: BSD-3-Clause
#include "meetings.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

// How long a newcomer waits at most for a dial of this side to be answered. The usual answer takes a round trip.
constexpr TimeUs wait_us = 200'000;

}  // namespace

Meetings::Meetings(TcpPort& port) noexcept : port_(port) {
    alarm_.owner = this;
    alarm_.fire = &Meetings::time_out;
}

void Meetings::close() noexcept {
    port_.host().disarm(alarm_);
    waiting_.clear();
}

// Whether this side is dialling what may turn out to be that context.
bool Meetings::may_be_dialled(const Identity& identity, const SocketAddress& host) const noexcept {
    if (!port_.dialling()) return false;
    return port_.peers().find_if([&](const TcpPeer& peer) {
        if (!peer.dial || peer.dial->separate() || peer.remote_context() != identity.context) return false;
        if (const na::Incarnation wanted = peer.addr().body().incarnation; wanted != 0) {
            return wanted == identity.incarnation;
        }
        return peer.incarnation() == identity.incarnation || peer.dial->towards(host);
    }) != nullptr;
}

bool Meetings::take(UniqueFd& fd, const na::Hello& hello, std::uint32_t token) {
    const Identity who = na::sender_of(hello);
    const SocketAddress host = SocketAddress::peer_of(fd.get());
    if (who == port_.identity() || !may_be_dialled(who, host)) return false;
    const bool accepted = who > port_.identity();
    if (accepted) {
        na::Hello answer = port_.hello(na::HelloKind::accept, who);
        answer.nonce = token;
        if (!send_hello(fd.get(), answer)) return false;
    }
    const TimeUs until = port_.host().now_us() + wait_us;
    waiting_.push_back(Waiting{std::move(fd), hello, host, token, accepted, until});
    if (!alarm_.armed()) port_.host().arm(alarm_, until);
    return true;
}

void Meetings::dial_succeeded(const Identity& identity) {
    std::erase_if(waiting_, [&](Waiting& waiting) {
        if (waiting.accepted || na::sender_of(waiting.hello) != identity) return false;
        na::Hello answer = port_.hello(na::HelloKind::reject, identity);
        answer.reason = static_cast<std::uint8_t>(Errc::exists);
        (void)send_hello(waiting.fd.get(), answer);
        return true;
    });
}

bool Meetings::met(TcpPeer& peer, const Identity& identity) {
    const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
        return waiting.accepted && na::sender_of(waiting.hello) == identity;
    });
    if (at == waiting_.end()) return false;
    Waiting kept = std::move(*at);
    waiting_.erase(at);
    port_.begin_session(peer, std::move(kept.fd),
                        {identity, kept.hello.message_bytes_max, kept.hello.credits, kept.token, false});
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
    for (Waiting& waiting : in) port_.let_in(std::move(waiting.fd), waiting.hello, waiting.token, waiting.accepted);
}

void Meetings::dial_ended() {
    let_in_if([this](const Waiting& waiting) { return !may_be_dialled(na::sender_of(waiting.hello), waiting.host); });
}

void Meetings::time_out(Timer& timer) noexcept {
    Meetings& self = TimerOf<Meetings>::owner_of(timer);
    const TimeUs now = self.port_.host().now_us();
    self.let_in_if([now](const Waiting& waiting) { return waiting.until <= now; });
    TimeUs next = time_never;
    for (const Waiting& waiting : self.waiting_) next = std::min(next, waiting.until);
    if (next != time_never && !self.alarm_.armed()) self.port_.host().arm(self.alarm_, next);
}

}  // namespace cinnabar::tcp
