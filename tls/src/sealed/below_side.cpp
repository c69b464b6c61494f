// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/below_side.hpp"

#include "sealed/port.hpp"

#include <utility>

namespace cinnabar::tls {
namespace {

LinkBelow* link_of(const na::Peer& below) noexcept { return static_cast<LinkBelow*>(below.upper); }

// The present session of the peer. Null: it has none, or arrivals still belong to the previous session.
SealedSession* session_of(const na::Peer& below) noexcept {
    const LinkBelow* const link = link_of(below);
    return link && !link->closing ? link->session : nullptr;
}

// Sealed ports send nothing but unexpected messages.
void not_expected(const na::Peer& below) noexcept {
    if (SealedSession* const session = session_of(below)) session->fail(Errc::protocol);
}

}  // namespace

void BelowSide::complete(na::Op& op, Errc result) noexcept { port_.shipments().returned(op, result); }

void BelowSide::on_unexpected(na::Arrival& arrival) noexcept {
    if (SealedSession* const session = session_of(*arrival.source)) session->arrived(arrival.bytes);
}

void BelowSide::on_expected(na::Arrival& arrival) noexcept { not_expected(*arrival.source); }

void BelowSide::on_notify(na::Peer& below, std::uint32_t) noexcept { not_expected(below); }

void BelowSide::on_peer(na::Peer& below, na::PeerEvent event, Errc why) noexcept {
    LinkBelow* const link = link_of(below);
    if (event == na::PeerEvent::connected) {
        if (!link && below.addr().is_connection()) port_.accept(below);
    } else if (event == na::PeerEvent::lost && link) {
        if (!std::exchange(link->closing, false)) {
            if (link->session) link->session->fail(why);
        } else if (std::exchange(link->dial_waits, false)) {
            port_.start_dial(*link->dialled);
        }
    }
}

}  // namespace cinnabar::tls
