// SPDX-License-Identifier: BSD-3-Clause
// Session: how it begins and ends, and the records that it receives.
#include "session.hpp"

#include "port.hpp"

#include <sys/epoll.h>

#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr unsigned records_max = 64;  // from one session, before others have their turn

}  // namespace

bool Session::start(ShmPort& port, ShmPeer& peer, Channel channel) noexcept {
    CINNABAR_ASSERT(!is_open());
    reader_.attach(channel.incoming_ring.base(), port.transport().ring_bytes(), port.transport().record_bytes_max());
    const bool sees_leases = is_own_user(channel.credentials);
    if (sees_leases && !port.transport().watch(reader_.header())) return false;
    if (!port.host().watch(channel.socket.get(), EPOLLIN | EPOLLRDHUP, *this)) {
        port.transport().unwatch(reader_.header());
        return false;
    }
    channel_ = std::move(channel);
    port_ = &port;
    peer_ = &peer;
    writer_.attach(channel_.outgoing_ring->memory.base(), channel_.outgoing_ring_bytes);
    armed_ = arms_ = rung_ = room_asked_ = room_served_ = 0;
    peer_closed_ = false;
    misses = 0;
    flag = channel_.own_flag.term();
    message_bytes_max_ = port.transport().limits().message_bytes_max;
    begin_access(port.access_pools(), port.transport().leases(), port.host(), peer, peer.rma);
    return true;
}

void Session::end(Errc why) noexcept {
    CINNABAR_ASSERT(is_open());
    copier_.end(why);
    end_access(why);
    // Tells the peer of the end sooner than the socket does: the peer may look at the ring in every round, but asks
    // epoll only once in a while.
    if (!peer_closed_ && writer_.reserve(0)) writer_.publish({RecordKind::bye, 0, 0, 0, 0});
    port_->closing(*this);
    port_->host().unwatch(channel_.socket.get());
    // From now on neither side begins a direct access: it first announces the access, and then checks `ended`.
    writer_.header().ended.store(1, std::memory_order_seq_cst);
    reader_.header().ended.store(1, std::memory_order_seq_cst);
    // A peer without the lease board cannot access a lease, whatever the incoming ring says. A peer that has closed the
    // session itself copies no more, but its other threads may still be in direct accesses.
    const bool sees_leases = is_own_user(channel_.credentials);
    const bool copies = !peer_closed_ && reader_.header().holding.load(std::memory_order_seq_cst) != 0;
    if (sees_leases && (copies || accesses_directly(reader_.header()))) {
        port_->transport().linger(reader_.header(), std::move(channel_.incoming_ring), channel_.credentials.pid,
                                  std::move(channel_.process));
    } else {
        port_->transport().unwatch(reader_.header());
    }
    channel_ = {};
    peer_ = nullptr;
}

void Session::fail(Errc why) noexcept { port_->end_session(*peer_, why); }

void Session::on_ready(std::uint32_t) noexcept {
    if (!is_open()) return;
    ShmPort& port = *port_;
    const SocketEvent event = listen_for_bells(channel_.socket.get(), is_own_user(channel_.credentials));
    if (event == SocketEvent::end) {
        lost();
    } else if (event == SocketEvent::descriptors) {
        malformed("descriptors with a wake-up");
    } else if (event == SocketEvent::bell) {
        port.hot_sessions().heard(*this);
    }
    (void)port.settle();
}

// Call when the peer's process has died or has closed the session. Delivers the records that the peer wrote before
// that, then ends the session.
void Session::lost() noexcept {
    peer_closed_ = true;
    const std::size_t looks_max = port_->transport().ring_bytes() / record_header_bytes / records_max + 1;
    for (std::size_t i = 0; i < looks_max && receive() != 0; ++i) {
    }
    fail(Errc::peer_lost);
}

// Copies the message at once, which frees its room in the ring, and delivers the copy, which the peer cannot change.
// Requires: at most message_bytes_max_ bytes.
inline bool Session::deliver_message(const RingReader::Message& message, na::Arrival& arrival,
                                     na::Receiver& receiver) noexcept {
    na::ReceiveBlocks& blocks = port_->blocks();
    const Bytes room = blocks.room();
    if (room.empty()) return false;
    std::memcpy(room.data(), message.payload, message.bytes);
    port_->small_traffic();
    arrival.bytes = {room.data(), message.bytes};
    arrival.tag = message.id;
    arrival.token = blocks.reading();
    receiver.on_message(message.kind == RecordKind::expected, arrival);
    blocks.consumed(message.bytes);
    return true;
}

unsigned Session::receive() noexcept {
    // While flagged, the bell stays armed, so that its line of the ring is not written for each record.
    if (armed_ != 0 && !flagged_link.linked) {
        armed_ = 0;
        reader_.header().armed.store(0, std::memory_order_relaxed);
    }
    na::Receiver& receiver = port_->host().receiver();
    na::Arrival arrival{{}, peer_, 0, port_, nullptr, 0};
    unsigned did = 0;
    for (; did < records_max && !peer().ending(); ++did) {
        const RingReader::Message message = reader_.next_message(message_bytes_max_);
        const bool delivered =
            message.payload ? deliver_message(message, arrival, receiver) : deliver_any(arrival, receiver);
        if (!delivered) break;
        reader_.consume();
    }
    if (reader_.room_due()) give_room_back();
    return did;
}

// False: there is no record, or it cannot be delivered: it is malformed, or there is no memory for it now.
bool Session::deliver_any(na::Arrival& arrival, na::Receiver& receiver) noexcept {
    Record record;
    const RingReader::Look look = reader_.next(record);
    if (look == RingReader::Look::none) return false;
    const bool message = record.is_message();  // next_message() does not find it, for example, after a skip
    if (look == RingReader::Look::broken || (message && record.bytes > message_bytes_max_)) {
        malformed();
        return false;
    }
    if (!message) return deliver(record) != 0;
    return deliver_message({reader_.payload(), record.bytes, record.kind, record.id}, arrival, receiver);
}

void Session::malformed(const char* what) noexcept {
    port_->transport().log_malformed(peer(), what);
    fail(Errc::protocol);
}

// Returns 0 if the record is malformed; then the session ends.
unsigned Session::deliver(const Record& record) noexcept {
    if (na::is_access(static_cast<std::uint8_t>(record.kind))) {
        const na::AccessHead head{static_cast<na::AccessKind>(record.kind), record.flags,
                                  static_cast<Errc>(record.status), 0, record.id};
        if (whole_frame_came(head, {reader_.payload(), record.bytes}) == Errc::ok) return 1;
        malformed();
        return 0;
    }
    const bool plain = record.flags == 0 && record.status == 0;
    switch (plain ? record.kind : RecordKind::skip) {
        case RecordKind::notify:
            if (record.bytes != 0) break;
            port_->host().receiver().on_notify(peer(), static_cast<std::uint32_t>(record.id));
            return 1;
        case RecordKind::bye:
            if (record.bytes != 0) break;
            peer_closed_ = true;
            fail(Errc::peer_lost);
            return 1;
        default:
            break;
    }
    malformed();
    return 0;
}

}  // namespace cinnabar::shm
