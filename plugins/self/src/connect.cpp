// SPDX-License-Identifier: BSD-3-Clause
// SelfPort: how connections begin and end. Each dial has a number, higher than that of any earlier dial. If two
// contexts dial each other at once, the two dials are one connection, and the number of either dial means that
// connection. A disconnect has the number of its connection, and does not end a connection that was dialled later.
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
    std::unique_ptr<MailboxItem> disconnect_item;
    if (target != mailbox_) {
        std::unique_ptr<MailboxItem> item(new (std::nothrow) MailboxItem);
        disconnect_item.reset(new (std::nothrow) MailboxItem);
        Mailbox::Visit visit(*target);
        if (!item || !disconnect_item || !visit.ok()) {
            dial_failed(peer, item && disconnect_item ? Errc::refused : Errc::out_of_memory);
            return;
        }
        item->kind = ItemKind::connect;
        item->control = true;
        item->source = mailbox_->context();
        item->network = transport_.incarnation();
        item->connection = connection;
        item->from = mailbox_;
        visit.push(*item.release());
    }
    connected(peer, target, connection, std::move(disconnect_item));
}

void SelfPort::dial_failed(SelfPeer& peer, Errc why) noexcept {
    lost(peer, why);
    tell_lost(peer);
}

void SelfPort::connected(SelfPeer& peer, std::shared_ptr<Mailbox> mailbox, std::uint64_t connection,
                         std::unique_ptr<MailboxItem> disconnect_item) noexcept {
    peer.initial_credits_ = mailbox->initial_credits();
    peer.mailbox_ = std::move(mailbox);
    peer.connection_ = connection;
    peer.disconnect_item_ = std::move(disconnect_item);
    peer.incarnation_ = peer.mailbox_->network().incarnation;
    peer.state_ = na::PeerState::connected;
    ++peer.epoch_;
    peer.acquire();
    if (peer.lost_why_ != Errc::ok) tell_lost(peer);  // the loss of the previous connection is reported first
    host_.receiver().on_peer(peer, na::PeerEvent::connected, Errc::ok);
}

void SelfPort::tell_disconnect(Mailbox& mailbox, std::uint64_t connection, std::unique_ptr<MailboxItem> item) noexcept {
    Mailbox::Visit visit(mailbox);
    if (!visit.ok()) return;  // the peer has disconnected already, or has closed
    item->kind = ItemKind::disconnect;
    item->control = true;
    item->source = mailbox_->context();
    item->network = transport_.incarnation();
    item->connection = connection;
    visit.push(*item.release());
}

// Ends a connection or a dial.
void SelfPort::lost(SelfPeer& peer, Errc why) noexcept {
    peer.disconnect_item_.reset();
    send_unsent(peer);
    const bool was_connected = std::exchange(peer.mailbox_, nullptr) != nullptr;
    peer.state_ = na::PeerState::idle;
    end_waiting(peer, why);
    if (peer.lost_why_ == Errc::ok) ++events_;
    peer.lost_why_ = why;
    if (was_connected) peer.release();
}

void SelfPort::announce_disconnect(SelfPeer& peer) noexcept {
    send_unsent(peer);  // these items precede the disconnect
    if (peer.disconnect_item_) tell_disconnect(*peer.mailbox_, peer.connection_, std::move(peer.disconnect_item_));
}

void SelfPort::tell_lost(SelfPeer& peer) noexcept {
    --events_;
    host_.receiver().on_peer(peer, na::PeerEvent::lost, std::exchange(peer.lost_why_, Errc::ok));
}

void SelfPort::disconnect(na::Peer& any_peer) noexcept {
    SelfPeer& peer = static_cast<SelfPeer&>(any_peer);
    if (peer.state() == na::PeerState::idle) return;
    announce_disconnect(peer);
    peer.refuse_below_ = transport_.next_connection();
    lost(peer, Errc::peer_lost);
}

void SelfPort::stop_accepting() noexcept { mailbox_->stop_accepting(); }

// The item of a new connection is kept, to be sent back as its disconnect.
void SelfPort::on_connect(SelfPeer& peer, std::unique_ptr<MailboxItem> item) noexcept {
    const std::uint64_t connection = item->connection;
    std::shared_ptr<Mailbox> from = std::move(item->from);
    if (connection < peer.refuse_below_) {
        tell_disconnect(*from, connection, std::move(item));
    } else if (peer.state() == na::PeerState::connected) {
        peer.connection_ = std::max(peer.connection_, connection);
    } else {
        connected(peer, std::move(from), connection, std::move(item));
    }
}

void SelfPort::deliver(MailboxItem& item) noexcept {
    SelfPeer* peer = peers_.sender_of(item);
    if (!peer) {
        if (item.kind != ItemKind::connect) return mailbox_->give_back(item);
        const std::shared_ptr<Mailbox> from = std::move(item.from);
        return tell_disconnect(*from, item.connection, std::unique_ptr<MailboxItem>(&item));
    }
    arrival_kept_ = false;
    const bool live = peer->state() == na::PeerState::connected && item.connection >= peer->refuse_below_;
    switch (item.kind) {
        case ItemKind::connect:
            return on_connect(*peer, std::unique_ptr<MailboxItem>(&item));
        case ItemKind::disconnect:
            if (live && item.connection >= peer->connection_) {
                lost(*peer, Errc::peer_lost);
                tell_lost(*peer);
            }
            break;
        case ItemKind::notify:
            if (live) host_.receiver().on_notify(*peer, static_cast<std::uint32_t>(item.tag));
            break;
        case ItemKind::unexpected:
        case ItemKind::expected:
            if (live) hand_out(item, *peer);
            break;
    }
    if (!arrival_kept_) mailbox_->give_back(item);
}

void SelfPort::hand_out(MailboxItem& item, SelfPeer& peer) noexcept {
    na::Arrival arrival{{item.buffer.get(), item.bytes}, &peer, item.tag, this, &item, 0};
    host_.receiver().on_message(item.kind == ItemKind::expected, arrival);
}

}  // namespace cinnabar::self_
