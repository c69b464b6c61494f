// SPDX-License-Identifier: BSD-3-Clause
// SelfPort: how connections begin and end. Each connection has a number. If two contexts dial each other at once, both
// numbers mean the same connection. A disconnect ends only connections that were dialled before it.
#include "port.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::self_ {

void SelfPort::dial(SelfPeer& peer) noexcept {
    const std::shared_ptr<Mailbox> target = transport_.find(peer.endpoint(), peer.context());
    const bool open_here = mailbox_->accepting();
    if (!open_here || !target || !target->accepting()) {
        dial_failed(peer, open_here ? Errc::refused : Errc::closed);
        return;
    }
    const std::uint64_t connection = transport_.next_connection();
    std::unique_ptr<Letter> farewell;
    if (target != mailbox_) {
        std::unique_ptr<Letter> letter(new (std::nothrow) Letter);
        farewell.reset(new (std::nothrow) Letter);
        Mailbox::Visit visit(*target);
        if (!letter || !farewell || !visit.ok()) {
            dial_failed(peer, letter && farewell ? Errc::refused : Errc::out_of_memory);
            return;
        }
        letter->kind = LetterKind::connect;
        letter->control = true;
        letter->source = mailbox_->context();
        letter->network = transport_.incarnation();
        letter->connection = connection;
        letter->from = mailbox_;
        visit.push(*letter.release());
    }
    connected(peer, target, connection, std::move(farewell));
}

void SelfPort::dial_failed(SelfPeer& peer, Errc why) noexcept {
    lost(peer, why);
    tell_lost(peer);
}

void SelfPort::connected(SelfPeer& peer, std::shared_ptr<Mailbox> mailbox, std::uint64_t connection,
                         std::unique_ptr<Letter> farewell) noexcept {
    peer.initial_credits_ = mailbox->initial_credits();
    peer.mailbox_ = std::move(mailbox);
    peer.connection_ = connection;
    peer.farewell_ = std::move(farewell);
    peer.incarnation_ = peer.mailbox_->network().incarnation;
    peer.state_ = na::PeerState::connected;
    ++peer.epoch_;
    peer.acquire();
    if (peer.lost_why_ != Errc::ok) tell_lost(peer);  // the loss of the previous connection is reported first
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
}

void SelfPort::tell_disconnect(Mailbox& mailbox, std::uint64_t connection, std::unique_ptr<Letter> letter) noexcept {
    Mailbox::Visit visit(mailbox);
    if (!visit.ok()) return;  // the peer has disconnected already, or has closed
    letter->kind = LetterKind::disconnect;
    letter->control = true;
    letter->source = mailbox_->context();
    letter->network = transport_.incarnation();
    letter->connection = connection;
    visit.push(*letter.release());
}

// Ends a connection or a dial.
void SelfPort::lost(SelfPeer& peer, Errc why) noexcept {
    peer.farewell_.reset();
    send_unsent(peer);
    const bool was_connected = std::exchange(peer.mailbox_, nullptr) != nullptr;
    peer.state_ = na::PeerState::idle;
    end_waiting(peer, why);
    if (peer.lost_why_ == Errc::ok) ++events_;
    peer.lost_why_ = why;
    if (was_connected) peer.release();
}

void SelfPort::say_farewell(SelfPeer& peer) noexcept {
    send_unsent(peer);  // these letters precede the disconnect
    if (peer.farewell_) tell_disconnect(*peer.mailbox_, peer.connection_, std::move(peer.farewell_));
}

void SelfPort::tell_lost(SelfPeer& peer) noexcept {
    --events_;
    host_.receiver().on_peer(peer, na::PeerEvent::lost, std::exchange(peer.lost_why_, Errc::ok));
}

void SelfPort::disconnect(na::Peer& any_peer) noexcept {
    SelfPeer& peer = static_cast<SelfPeer&>(any_peer);
    if (peer.state() == na::PeerState::idle) return;
    say_farewell(peer);
    peer.refuse_below_ = transport_.next_connection();
    lost(peer, Errc::peer_lost);
}

void SelfPort::stop_accepting() noexcept { mailbox_->stop_accepting(); }

// The letter of a new connection is kept, to be sent back as its disconnect.
void SelfPort::on_connect(SelfPeer& peer, std::unique_ptr<Letter> letter) noexcept {
    const std::uint64_t connection = letter->connection;
    std::shared_ptr<Mailbox> from = std::move(letter->from);
    if (connection < peer.refuse_below_) {
        tell_disconnect(*from, connection, std::move(letter));
    } else if (peer.state() == na::PeerState::connected) {
        peer.connection_ = std::max(peer.connection_, connection);
    } else {
        connected(peer, std::move(from), connection, std::move(letter));
    }
}

void SelfPort::deliver(Letter& letter) noexcept {
    SelfPeer* peer = peers_.sender_of(letter);
    if (!peer) {
        if (letter.kind != LetterKind::connect) return mailbox_->give_back(letter);
        const std::shared_ptr<Mailbox> from = std::move(letter.from);
        return tell_disconnect(*from, letter.connection, std::unique_ptr<Letter>(&letter));
    }
    arrival_kept_ = false;
    const bool live = peer->state() == na::PeerState::connected && letter.connection >= peer->refuse_below_;
    switch (letter.kind) {
        case LetterKind::connect:
            return on_connect(*peer, std::unique_ptr<Letter>(&letter));
        case LetterKind::disconnect:
            if (live && letter.connection >= peer->connection_) {
                lost(*peer, Errc::peer_lost);
                tell_lost(*peer);
            }
            break;
        case LetterKind::notify:
            if (live) host_.receiver().on_notify(*peer, static_cast<std::uint32_t>(letter.tag));
            break;
        case LetterKind::unexpected:
        case LetterKind::expected:
            if (live) hand_out(letter, *peer);
            break;
    }
    if (!arrival_kept_) mailbox_->give_back(letter);
}

void SelfPort::hand_out(Letter& letter, SelfPeer& peer) noexcept {
    na::Arrival arrival{{letter.buffer.get(), letter.bytes}, &peer, letter.tag, this, &letter, 0};
    host_.receiver().on_message(letter.kind == LetterKind::expected, arrival);
}

}  // namespace cinnabar::self_
