// SPDX-License-Identifier: BSD-3-Clause
#include "port.hpp"

#include "rma.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::self_ {
namespace {

constexpr unsigned items_per_poll = 64;
constexpr unsigned completions_per_poll = 256;

SelfOp& self_op_of(na::Op& op) noexcept { return *std::launder(reinterpret_cast<SelfOp*>(op.private_bytes)); }

}  // namespace

SelfPort::SelfPort(SelfTransport& transport, na::PortHost& host, std::shared_ptr<Mailbox> mailbox)
    : transport_(transport),
      host_(host),
      mailbox_(std::move(mailbox)),
      messages_(host.threads(), transport.options().send_slots_max, transport.limits().message_bytes_max),
      peers_(*this, transport) {}

void SelfPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    transport_.close_port(mailbox_->context());
    mailbox_->close();
    peers_.for_each([this](SelfPeer& peer) {
        end_waiting(peer, Errc::canceled);
        announce_disconnect(peer);
        if (std::exchange(peer.mailbox_, nullptr)) peer.release();
        peer.state_ = na::PeerState::idle;
    });
    while (SelfOp* self_op = done_.pop_front()) host_.complete(*self_op->op, self_op->result);
    while (MailboxItem* item = inbox_.next()) mailbox_->give_back(*item);
    peers_.for_each([this](SelfPeer& peer) { host_.peer_gone(peer); });
}

Result<na::Peer*> SelfPort::peer(const na::Addr& addr) {
    const auto& body = addr.body();
    for (const std::string& endpoint : body.endpoints) {
        if (transport_.is_own(endpoint)) {
            const bool is_it = body.incarnation == 0 || body.incarnation == transport_.incarnation();
            if (SelfPeer* found = is_it ? peers_.of(body.context) : nullptr) return static_cast<na::Peer*>(found);
        } else if (transport_.reaches(endpoint)) {
            return static_cast<na::Peer*>(&peers_.at(endpoint, body.context));
        }
    }
    return Error(Errc::unreachable, "no node of this process has that name", addr.to_string());
}

Errc SelfPort::post(na::Op& op) noexcept {
    if (closed_) return Errc::closed;
    SelfPeer& peer = static_cast<SelfPeer&>(*op.peer);
    if (peer.state() == na::PeerState::connected && peer.waiting_.empty()) {
        const Errc result = carry_out(op, peer);
        if (result == Errc::again) return result;
        finish(na::make_posted<SelfOp>(op), result);
        return Errc::ok;
    }
    auto& self_op = na::make_posted<SelfOp>(op);
    self_op.waiting = true;
    peer.waiting_.push_back(self_op);
    if (!peer.busy_link_.linked) busy_.push_back(peer);
    if (peer.state() == na::PeerState::idle) peer.state_ = na::PeerState::connecting;
    return Errc::ok;
}

bool SelfPort::send_now(na::Peer& to, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    auto& peer = static_cast<SelfPeer&>(to);
    return peer.state() == na::PeerState::connected && peer.waiting_.empty() &&
           send(peer, kind, tag, message) == Errc::ok;
}

void SelfPort::finish(SelfOp& self_op, Errc result) noexcept {
    self_op.waiting = false;
    self_op.result = result;
    done_.push_back(self_op);
}

void SelfPort::end_waiting(SelfPeer& peer, Errc result) noexcept {
    while (SelfOp* self_op = peer.waiting_.pop_front()) finish(*self_op, result);
    if (peer.busy_link_.linked) busy_.remove(peer);
}

void SelfPort::cancel(na::Op& op) noexcept {
    SelfOp& self_op = self_op_of(op);
    if (!self_op.waiting) return;
    static_cast<SelfPeer&>(*op.peer).waiting_.remove(self_op);
    finish(self_op, Errc::canceled);
}

Errc SelfPort::carry_out(na::Op& op, SelfPeer& peer) noexcept {
    switch (op.kind) {
        case na::OpKind::send_unexpected:
        case na::OpKind::send_expected:
            return send(peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
        case na::OpKind::put_notify:
            return put_notify(op, peer);
        case na::OpKind::put:
        case na::OpKind::get:
        case na::OpKind::fetch_add:
        case na::OpKind::compare_swap:
            break;
    }
    return access_memory(peer.mailbox_->network().leases, op);
}

Errc SelfPort::send(SelfPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    if (message.size() > peer.mailbox_->message_bytes_max()) return Errc::too_large;
    if (peer.mailbox_->closed()) return Errc::peer_lost;
    MailboxItem* item =
        peer.mailbox_->take(kind == na::OpKind::send_expected ? ItemKind::expected : ItemKind::unexpected);
    if (!item) return Errc::again;
    item->source = mailbox_->context();
    item->network = transport_.incarnation();
    item->connection = peer.connection_;
    item->tag = tag;
    item->bytes = static_cast<std::uint32_t>(message.size());
    std::memcpy(item->buffer.get(), message.data(), message.size());
    add_unsent(peer, *item);
    return Errc::ok;
}

Errc SelfPort::put_notify(na::Op& op, SelfPeer& peer) noexcept {
    if (peer.mailbox_->closed()) return Errc::peer_lost;
    MailboxItem* item = peer.mailbox_->take(ItemKind::notify);
    if (!item) return Errc::again;
    const Errc result = access_memory(peer.mailbox_->network().leases, op);
    if (result != Errc::ok) {
        peer.mailbox_->give_back(*item);
        return result;
    }
    item->source = mailbox_->context();
    item->network = transport_.incarnation();
    item->connection = peer.connection_;
    item->tag = op.notify;
    add_unsent(peer, *item);
    return Errc::ok;
}

void SelfPort::add_unsent(SelfPeer& peer, MailboxItem& item) noexcept {
    if (peer.unsent_) {
        peer.unsent_last_->rest = &item;
    } else {
        peer.unsent_ = &item;
        unsent_.push_back(peer);
    }
    peer.unsent_last_ = &item;
}

// Posts the unsent items of a peer, or drops them if the peer's mailbox has closed. Requires: the peer is no longer in
// unsent_.
void SelfPort::hand_over(SelfPeer& peer) noexcept {
    Mailbox::Visit visit(*peer.mailbox_);
    if (visit.ok()) return visit.push(*std::exchange(peer.unsent_, nullptr));
    while (MailboxItem* item = peer.unsent_) {
        peer.unsent_ = std::exchange(item->rest, nullptr);
        peer.mailbox_->give_back(*item);
    }
}

void SelfPort::send_unsent(SelfPeer& peer) noexcept {
    if (!peer.unsent_) return;
    unsent_.remove(peer);
    hand_over(peer);
}

unsigned SelfPort::poll() noexcept {
    unsigned done = 0;
    if (events_ != 0) {
        peers_.for_each([&](SelfPeer& peer) {
            if (peer.lost_why_ == Errc::ok) return;
            tell_lost(peer);
            ++done;
        });
    }
    done += poll_busy();
    done += poll_inbox();
    done += poll_done();
    flush();  // sends what arrivals and completions have posted
    return done;
}

unsigned SelfPort::poll_busy() noexcept {
    unsigned done = 0;
    BusyPeers round;
    round.splice_back(busy_);
    while (SelfPeer* peer = round.pop_front()) {
        // Listed again at once: the calls below may post, and take the peer off the list when nothing waits any more.
        busy_.push_back(*peer);
        if (peer->state() == na::PeerState::idle) peer->state_ = na::PeerState::connecting;
        if (peer->state() == na::PeerState::connecting) {
            dial(*peer);
            ++done;
        }
        while (SelfOp* self_op = peer->waiting_.front()) {
            if (peer->state() != na::PeerState::connected) break;
            na::Op& op = *self_op->op;
            if (na::is_message(op.kind)) {
                host_.receiver().on_delayed(*peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
            }
            const Errc result = carry_out(op, *peer);
            if (result == Errc::again) break;
            peer->waiting_.remove(*self_op);
            finish(*self_op, result);
            ++done;
        }
        if (peer->waiting_.empty() && peer->busy_link_.linked) busy_.remove(*peer);
    }
    return done;
}

unsigned SelfPort::poll_inbox() noexcept {
    inbox_.take_all(*mailbox_);
    unsigned done = 0;
    while (done < items_per_poll) {
        MailboxItem* const item = inbox_.next();
        if (!item) break;
        deliver(*item);
        ++done;
    }
    return done;
}

unsigned SelfPort::poll_done() noexcept {
    return na::complete_some(done_, completions_per_poll,
                             [this](SelfOp& ended) noexcept { host_.complete(*ended.op, ended.result); });
}

bool SelfPort::prepare_wait() noexcept {
    return events_ == 0 && busy_.empty() && unsent_.empty() && inbox_.empty() && done_.empty() && mailbox_->empty();
}

Errc SelfPort::keep(na::Arrival& arrival, na::Kept& out) noexcept {
    auto* item = static_cast<MailboxItem*>(arrival.token);
    arrival_kept_ = true;
    out = na::Kept{arrival.bytes, this, item, 0, false};
    return Errc::ok;
}

Errc SelfPort::detach(na::Kept& kept) noexcept {
    if (kept.detached || closed_) return Errc::ok;
    // Frees the receive slot. Its buffer stays with the message, and the slot allocates a new one.
    if (detached_ == transport_.options().receive_slots) return Errc::overloaded;
    auto* item = static_cast<MailboxItem*>(kept.token);
    kept.token = item->buffer.release();
    kept.detached = true;
    mailbox_->give_back(*item);
    ++detached_;
    return Errc::ok;
}

void SelfPort::release(na::Kept& kept) noexcept {
    if (kept.detached) {
        delete[] static_cast<std::byte*>(kept.token);
        --detached_;
    } else {
        mailbox_->give_back(*static_cast<MailboxItem*>(kept.token));
    }
    kept = {};
}

}  // namespace cinnabar::self_
