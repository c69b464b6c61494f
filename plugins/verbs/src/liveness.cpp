// SPDX-License-Identifier: BSD-3-Clause
#include "liveness.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::verbs {
namespace {

// How often draining sessions are checked.
constexpr TimeUs drain_look_us = 100'000;

}  // namespace

Liveness::Liveness(VerbsPort& port) noexcept : port_(port) { timer_.bind<&Liveness::beat>(*this); }

void Liveness::arm() noexcept {
    if (timer_.armed() || port_.closed()) return;
    const TimeUs keepalive = static_cast<TimeUs>(port_.options().keepalive.count());
    const TimeUs now = port_.host().now_us();
    if (any_drains()) return port_.host().arm(timer_, now + drain_look_us);
    if (port_.hot() && keepalive > 0) port_.host().arm(timer_, now + std::max<TimeUs>(keepalive / 4, 1));
}

void Liveness::drain(Session& session) noexcept {
    draining_.push_back(session);
    arm();
}

unsigned Liveness::close_drained() noexcept {
    unsigned did = 0;
    const TimeUs now = port_.host().now_us();
    for (Session* session = draining_.front(); session;) {
        Session& each = *std::exchange(session, draining_.next(*session));
        each.give_slots_back();
        if (!each.idle() && now < each.drained_by) continue;
        draining_.remove(each);
        port_.discard(each, Errc::peer_lost);
        ++did;
    }
    return did;
}

void Liveness::stop() noexcept { port_.host().disarm(timer_); }

void Liveness::forget_all() noexcept {
    while (!draining_.empty()) (void)draining_.pop_front();
}

void Liveness::beat() noexcept {
    (void)close_drained();
    const TimeUs keepalive = static_cast<TimeUs>(port_.options().keepalive.count());
    // Reads all completions first: a process that was stopped has not read what arrived meanwhile.
    const std::uint64_t emptied = port_.arrivals().times_emptied();
    (void)port_.arrivals().poll();
    if (keepalive > 0 && port_.arrivals().times_emptied() != emptied) probe_sessions(keepalive);
    arm();
    (void)port_.settle();
}

void Liveness::probe_sessions(TimeUs keepalive) noexcept {
    const TimeUs now = port_.host().now_us();
    const TimeUs since = now - std::min(now, keepalive / 4);
    port_.sessions().for_each([&](Session& session) {
        if (session.stage() != Stage::open || session.peer()->ending()) return;
        if (session.probe(since, keepalive / 2)) return;
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::debug, "verbs",
                    {peer_field(session.peer()->addr()), transport_field("verbs"), error_field(Errc::peer_lost)},
                    "a peer does not answer: its session ends");
        port_.end_session(*session.peer(), Errc::peer_lost);
    });
}

}  // namespace cinnabar::verbs
