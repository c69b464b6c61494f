// SPDX-License-Identifier: BSD-3-Clause
// Heartbeats detect peers that no longer answer but keep their connection, because they are stopped or behind a broken
// cable. A peer is watched only while calls wait for it; anything received from a peer counts as a sign of life. A peer
// that was asked to leave (evict_idle.cpp) is watched as well, even without heartbeats, because nothing is sent to it
// until it answers.
#include "control.hpp"
#include "part_of.hpp"
#include "peers.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::rpc {
namespace {

// A correct peer answers at once when it is asked to leave.
constexpr Microseconds leave_answer_max{5'000'000};

}  // namespace

void Peers::watch(PeerBook& book) noexcept {
    if (!book.open || book.beat.armed()) return;
    book.heard = base_.na->now_us();
    book.pinged = 0;
    book.beat.user = &book;
    book.beat.fire = bind<&Peers::beat>;
    base_.na->arm(book.beat,
                  after(book.heard, base_.options.heartbeat.count() != 0 ? base_.options.heartbeat : leave_answer_max));
}

void Peers::beat(PeerBook& book) noexcept {
    if (!book.open || (book.sent == 0 && book.leaving == Leaving::no)) return;
    const TimeUs now = base_.na->now_us();
    const bool silent = book.pinged != 0 && book.heard < book.pinged;
    // Requests of the peer that are still here were sent before it was asked.
    const bool leaves = book.leaving == Leaving::asked && book.held.empty();
    if (silent || (leaves && after(book.asked, leave_answer_max) <= now)) {
        static constinit LogLimit lines;
        const na::Addr& peer = book.peer->addr();
        log_limited(lines, LogLevel::warning, "rpc", {peer_field(peer), error_field(Errc::peer_lost)},
                    "%s has not answered for %llu us and counts as lost", peer.log_name().c_str(),
                    static_cast<unsigned long long>(now - (silent ? book.heard : book.asked)));
        return book.peer->port().disconnect(*book.peer);
    }
    if (base_.options.heartbeat.count() == 0) {
        if (book.leaving == Leaving::asked) base_.na->arm(book.beat, after(now, leave_answer_max));
        return;
    }
    // Each beat decides anew whether to ping, so that a pause of this process is not held against the peer.
    book.pinged = 0;
    if (after(book.heard, base_.options.heartbeat) <= now) {
        book.pinged = now;
        parts_.control.send(book, {ControlType::ping, 0, 0});
    }
    base_.na->arm(book.beat, after(now, base_.options.heartbeat));
}

}  // namespace cinnabar::rpc
