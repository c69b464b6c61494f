// SPDX-License-Identifier: BSD-3-Clause
// The part of a port that makes and ends connections. A connection has a number; two contexts that dial each other at
// once share both numbers, and a disconnect ends only what was dialled before it.
#include "port.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::self_ {

void SelfPort::dial(SelfPeer& peer) noexcept {
    const std::shared_ptr<Mailbox> target = transport_.find(peer.context());
    const bool open_here = mailbox_->accepting();
    if (!open_here || !target || !target->accepting()) {
        dial_failed(peer, open_here ? Errc::refused : Errc::closed);
        return;
    }
    const std::uint64_t connection = transport_.next_connection();
    if (target != mailbox_) {
        Mailbox::Visit visit(*target);
        if (!visit.ok()) {
            dial_failed(peer, Errc::refused);
            return;
        }
        auto* letter = new Letter;
        letter->kind = LetterKind::connect;
        letter->control = true;
        letter->source = mailbox_->context();
        letter->connection = connection;
        letter->from = mailbox_;
        visit.push(*letter);
    }
    connected(peer, target, connection);
}

void SelfPort::dial_failed(SelfPeer& peer, Errc why) noexcept {
    lost(peer, why);
    tell_lost(peer);
}

void SelfPort::connected(SelfPeer& peer, std::shared_ptr<Mailbox> mailbox, std::uint64_t connection) noexcept {
    peer.initial_credits_ = mailbox->initial_credits();
    peer.mailbox_ = std::move(mailbox);
    peer.connection_ = connection;
    peer.incarnation_ = transport_.incarnation();
    peer.state_ = na::PeerState::connected;
    ++peer.epoch_;
    peer.acquire();
    if (peer.lost_why_ != Errc::ok) tell_lost(peer);  // of the connection before
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
}

void SelfPort::tell_disconnect(Mailbox& mailbox, std::uint64_t connection) noexcept {
    Mailbox::Visit visit(mailbox);
    if (!visit.ok()) return;  // it has told us, or its letters are gone with it
    auto* letter = new Letter;
    letter->kind = LetterKind::disconnect;
    letter->control = true;
    letter->source = mailbox_->context();
    letter->connection = connection;
    visit.push(*letter);
}

// The end of a connection or of a dial.
void SelfPort::lost(SelfPeer& peer, Errc why) noexcept {
    const bool was_connected = std::exchange(peer.mailbox_, nullptr) != nullptr;
    peer.state_ = na::PeerState::idle;
    end_waiting(peer, why);
    if (peer.lost_why_ == Errc::ok) ++events_;
    peer.lost_why_ = why;
    if (was_connected) peer.release();
}

void SelfPort::tell_lost(SelfPeer& peer) noexcept {
    --events_;
    host_.receiver().on_peer(peer, na::PeerEvent::lost, std::exchange(peer.lost_why_, Errc::ok));
}

void SelfPort::disconnect(na::Peer& any_peer) noexcept {
    SelfPeer& peer = static_cast<SelfPeer&>(any_peer);
    if (peer.state() == na::PeerState::idle) return;
    if (peer.mailbox_ && peer.mailbox_ != mailbox_) tell_disconnect(*peer.mailbox_, peer.connection_);
    peer.refuse_below_ = transport_.next_connection();
    lost(peer, Errc::peer_lost);
}

void SelfPort::stop_accepting() noexcept { mailbox_->stop_accepting(); }

void SelfPort::on_connect(Letter& letter) noexcept {
    SelfPeer* peer = peer_of(letter.source);
    CINNABAR_ASSERT(peer);
    if (letter.connection < peer->refuse_below_) {
        tell_disconnect(*letter.from, letter.connection);
    } else if (peer->state() == na::PeerState::connected) {
        peer->connection_ = std::max(peer->connection_, letter.connection);
    } else {
        connected(*peer, letter.from, letter.connection);
    }
}

void SelfPort::deliver(Letter& letter) noexcept {
    SelfPeer* peer = peer_of(letter.source);
    CINNABAR_ASSERT(peer);
    arrival_kept_ = false;
    const bool live = peer->state() == na::PeerState::connected && letter.connection >= peer->refuse_below_;
    switch (letter.kind) {
        case LetterKind::connect:
            on_connect(letter);
            break;
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
    if (letter.kind == LetterKind::expected) {
        host_.receiver().on_expected(arrival);
    } else {
        host_.receiver().on_unexpected(arrival);
    }
}

}  // namespace cinnabar::self_
