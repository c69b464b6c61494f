// SPDX-License-Identifier: BSD-3-Clause
#include "hot_sessions.hpp"

#include "full_barrier.hpp"

#include <algorithm>

namespace cinnabar::shm {
namespace {

// Up to this number of sessions, each is looked at in every round, active or not. If there are more, they are a crowd.
constexpr std::size_t always_hot = 8;
// The maximum number of sessions that are looked at in every round.
constexpr std::size_t hot_max = 64;
// How many looks in a row may find no record before a hot session in a crowd ceases to be hot. The first limit is for
// sessions without a flag, the second one for sessions with a flag.
constexpr std::uint32_t misses_max = 4096;
constexpr std::uint32_t misses_max_flagged = 64;
// A flagged session becomes hot if its last record came at most this many rounds ago.
constexpr std::uint32_t dense_rounds = 16;
// Once in this many rounds, one flagged session is looked at although its flag is not raised.
constexpr std::uint32_t rounds_per_look = 4;
// How long epoll is asked only once in a while after a record has arrived. epoll reports incoming connections, cold
// sessions and closed sockets.
constexpr TimeUs hot_us = 200;

}  // namespace

void HotSessions::reserve(std::size_t sessions, std::uint32_t flag) {
    hot_.reserve(sessions);
    if (by_flag_.size() < flag) by_flag_.resize(std::max<std::size_t>(flag, 2 * by_flag_.size()));
}

void HotSessions::begin(Session& session) noexcept {
    ++sessions_;
    session.came_round = rounds_ - dense_rounds - 1;
    if (session.flag != 0) by_flag_[session.flag - 1] = &session;
    touch(session);
    raise_if_missed(session);
}

void HotSessions::end(Session& session) noexcept {
    --sessions_;
    if (session.flag != 0) by_flag_[session.flag - 1] = nullptr;
    if (session.hot_at != 0) forget_hot(session);
    if (Flagged::linked(session)) flagged_.remove(session);
}

bool HotSessions::crowded() const noexcept { return sessions_ > always_hot; }

bool HotSessions::active() const noexcept {
    return (!hot_.empty() || !flagged_.empty()) && host_.now_us() - active_at_ < hot_us;
}

void HotSessions::forget_hot(Session& session) noexcept {
    Session* const last = hot_.back();
    hot_[session.hot_at - 1] = last;
    last->hot_at = session.hot_at;
    hot_.pop_back();
    session.hot_at = 0;
}

void HotSessions::cool(Session& session) noexcept {
    session.arm(Session::Bell::socket);
    full_barrier();
    // The peer has not rung for records that it wrote before the bell was armed. If there is such a record, the session
    // stays hot.
    if (!session.missed()) forget_hot(session);
}

// Asks the peer to raise the session's flag for records that it writes from now on. Call raise_if_missed() afterwards,
// for records that the peer wrote before. Requires: the session is not hot.
void HotSessions::flag(Session& session) noexcept {
    session.arm(Session::Bell::flag);
    flagged_.push_back(session);
    // Orders arming before the check. Pairs with the barrier of ShmPort::write_out().
    full_barrier();
}

// Raises the flag in place of the peer, if there are records for which the peer has not raised it: the peer wrote them
// before the flag was armed, or the last receive() left them in the ring.
void HotSessions::raise_if_missed(Session& session) noexcept {
    if (Flagged::linked(session) && session.missed()) flags_.raise(session.flag - 1);
}

void HotSessions::heat(Session& session) noexcept {
    session.misses = 0;
    hot_.push_back(&session);
    session.hot_at = hot_.size();
}

// Call when a session begins, or when its peer has rung.
void HotSessions::touch(Session& session) noexcept {
    session.misses = 0;
    if (session.hot_at != 0 || Flagged::linked(session)) return;
    if (session.flag != 0 && crowded()) return flag(session);
    if (hot_.size() >= hot_max) {
        cool(**std::max_element(hot_.begin(), hot_.end(),
                                [](const Session* a, const Session* b) { return a->misses < b->misses; }));
    }
    heat(session);
}

void HotSessions::heard(Session& session) noexcept {
    touch(session);
    (void)session.receive();
    raise_if_missed(session);
}

// Counts a look at a hot session that has found nothing. If the session then ceases to be hot, the last session in the
// list takes its place, and is looked at only in the next round.
void HotSessions::miss(Session& session) noexcept {
    ++session.misses;
    if (session.flag == 0) {
        if (session.misses > misses_max && hot_.size() > always_hot) cool(session);
    } else if (session.misses > misses_max_flagged && crowded()) {
        forget_hot(session);
        flag(session);
        raise_if_missed(session);
    }
}

// Looks at a session whose flag was raised, or whose turn it is.
unsigned HotSessions::visit(Session& session) noexcept {
    if (session.hot_at != 0 || !session.missed()) return 0;
    if (!Flagged::linked(session)) flag(session);
    const unsigned came = session.receive();
    const bool dense = rounds_ - session.came_round <= dense_rounds;
    session.came_round = rounds_;
    if (!crowded() || (dense && hot_.size() < always_hot)) {
        flagged_.remove(session);
        heat(session);
    }
    raise_if_missed(session);
    return came;
}

unsigned HotSessions::look_at_raised() noexcept {
    unsigned did = 0;
    flags_.lower([&](std::uint32_t raised) noexcept {
        Session* const session = raised < by_flag_.size() ? by_flag_[raised] : nullptr;
        if (session) did += visit(*session);
    });
    return did;
}

unsigned HotSessions::look_at_next() noexcept {
    Session* const session = flagged_.front();
    flagged_.remove(*session);
    flagged_.push_back(*session);
    return visit(*session);
}

unsigned HotSessions::look() noexcept {
    unsigned did = 0;
    for (std::size_t i = 0; i < hot_.size(); ++i) {
        Session& session = *hot_[i];
        const unsigned came = session.is_quiet() ? 0 : session.receive();
        did += came;
        if (came != 0) {
            session.misses = 0;
            session.came_round = rounds_;
        } else {
            miss(session);
        }
    }
    if (flags_.any()) did += look_at_raised();
    if (++rounds_ % rounds_per_look == 0 && !flagged_.empty()) did += look_at_next();
    if (did != 0) active_at_ = host_.now_us();
    return did;
}

void HotSessions::arm() noexcept {
    for (Session* session : hot_) session->arm(Session::Bell::context);
    for (Session* session = flagged_.front(); session; session = Flagged::next(*session)) {
        session->arm(Session::Bell::socket);
    }
}

// Returns whether a session has a record. Flagged sessions without a record become cold. The other flagged sessions
// stay flagged, and their flags are raised here, because their peers will not ring for these records. If another
// process lowers those flags, the sessions are still looked at in turn.
bool HotSessions::missed() noexcept {
    bool any = std::any_of(hot_.begin(), hot_.end(), [](const Session* session) { return session->missed(); });
    Flagged with_records;
    while (Session* const session = flagged_.pop_front()) {
        if (session->missed()) with_records.push_back(*session);
    }
    while (Session* const session = with_records.pop_front()) {
        flag(*session);
        raise_if_missed(*session);
        any = true;
    }
    return any;
}

}  // namespace cinnabar::shm
