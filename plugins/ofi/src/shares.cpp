// SPDX-License-Identifier: BSD-3-Clause
// Pools that all sessions of a port share. One that is used up is used up by somebody: who holds the most of it ends,
// not who comes next.
#include "port.hpp"

namespace cinnabar::ofi {
namespace {

// How long a peer may keep room for chunks that it does not send while others wait for such room.
constexpr TimeUs writer_silence_us = 5'000'000;

}  // namespace

// False: nobody else holds more than the session that asks. Those that wait for the provider come first: whoever takes
// what it asked for holds much for a moment only.
bool OfiPort::end_largest(std::uint32_t (Session::*held)() const noexcept, Session& asks) noexcept {
    Session* largest = nullptr;
    const auto before = [held](const Session& one, const Session& other) {
        const bool waits = one.waits_for_peer();
        return waits != other.waits_for_peer() ? waits : (one.*held)() > (other.*held)();
    };
    sessions_.for_each([&](Session& session) {
        if (!session.live() || (session.*held)() == 0) return;
        if (!largest || before(session, *largest)) largest = &session;
    });
    if (!largest || largest == &asks) return false;
    largest->forfeit(Errc::overloaded);
    return true;
}

Buffer* OfiPort::take_note(Session& asks) noexcept {
    Buffer* note = notes_.take(*this);
    if (!note && end_largest(&Session::notes_waiting, asks)) note = notes_.take(*this);
    return note;
}

Owed* OfiPort::take_owed(Session& asks) noexcept {
    Owed* owed = owed_.acquire();
    if (!owed && end_largest(&Session::requests_served, asks)) owed = owed_.acquire();
    return owed;
}

Transfer* OfiPort::take_transfer(Session& asks) noexcept {
    Transfer* transfer = transfers_.acquire();
    if (!transfer) (void)end_largest(&Session::transfers_unanswered, asks);
    return transfer;
}

void OfiPort::end_silent_writer(const Session& asks) noexcept {
    const TimeUs now = host_.now_us();
    if (served_staging_.taken() < served_staging_.slots_max() || now < silent_looked_at_ + writer_silence_us / 8)
        return;
    silent_looked_at_ = now;
    Session* silent = nullptr;
    sessions_.for_each([&](Session& session) {
        if (!session.live() || &session == &asks) return;
        if (!silent || session.put_waits_since() < silent->put_waits_since()) silent = &session;
    });
    if (silent && silent->put_waits_since() < now - writer_silence_us) silent->forfeit(Errc::timed_out);
}

}  // namespace cinnabar::ofi
