// SPDX-License-Identifier: BSD-3-Clause
#include "rude_peer.hpp"

#include <cinnabar/bulk/remote_region.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace cinnabar::hostile {

RudePeer::RudePeer(std::shared_ptr<na::Transport> transport, na::ContextId context, Sends sends)
    : transport_(std::move(transport)) {
    receiver_.record = false;
    receiver_.on_arrival = [this](na::Arrival& arrival) { take(arrival); };
    na::ContextOptions options;
    options.threads = sends == Sends::at_once ? Threads::many : Threads::one;
    options.id = context;
    na::Transport* const transports[] = {transport_.get()};
    context_ = na::Context::open(transports, options, receiver_).value();
}

RudePeer::~RudePeer() {
    if (peer_) peer_->release();
    context_->close();
    if (lease_.granted()) (void)transport_->revoke(lease_);
}

void RudePeer::meet(const na::Addr& target) {
    peer_ = context_->peer(target).value();
    peer_->acquire();
}

bool RudePeer::connected() const noexcept { return peer_ && peer_->state() == na::PeerState::connected; }

void RudePeer::look() {
    (void)context_->progress(Microseconds{0});
    (void)context_->trigger(1024);
    notice_connection();
    if (owes_ack_ && acknowledge()) owes_ack_ = false;
}

void RudePeer::notice_connection() noexcept {
    if (was_connected_ == connected()) return;
    was_connected_ = connected();
    credits_ = was_connected_ ? peer_->initial_credits() - 1 : 0;  // the first request, which dialled, has used one
    control_unacked_ = owes_ack_ = false;
}

RudePeer::Sent& RudePeer::idle_slot() {
    const auto idle = std::find_if(sent_.begin(), sent_.end(), [](const auto& sent) { return sent->free; });
    if (idle != sent_.end()) return **idle;
    sent_.push_back(std::make_unique<Sent>());
    sent_.back()->owner = this;
    return *sent_.back();
}

bool RudePeer::frame(ConstBytes bytes, na::Tag tag) {
    na::Message* const message = peer_->port().take_message();
    if (!message) return false;
    Sent& sent = idle_slot();
    std::copy(bytes.begin(), bytes.end(), message->bytes().begin());
    sent.op.kind = na::OpKind::send_unexpected;
    sent.op.peer = peer_;
    sent.op.message = message;
    sent.op.message_bytes = static_cast<std::uint32_t>(bytes.size());
    sent.op.tag = tag;
    sent.op.user = &sent;
    sent.op.complete = [](na::Op& op) noexcept {
        auto& over = *static_cast<Sent*>(op.user);
        op.message->port->give_message(*op.message);
        over.free = true;
    };
    sent.free = false;
    if (context_->post(sent.op) == Errc::ok) return ++frames_ != 0;
    sent.free = true;
    message->port->give_message(*message);
    return false;
}

bool RudePeer::request(rpc::RpcId rpc, ConstBytes payload, std::uint16_t flags, std::uint64_t time_left) {
    if (keeps_to_slots_ && was_connected_ && credits_ == 0) return false;
    std::vector<std::byte> bytes(rpc::request_header_bytes + payload.size());
    std::copy(payload.begin(), payload.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() - payload.size()));
    rpc::RequestHeader header;
    header.rpc = rpc;
    header.flags = flags;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.time_left_us = time_left;
    rpc::encode_request(header, bytes);
    if (!frame(bytes, (++tag_ << 24) | 1)) return false;
    if (credits_ != 0) --credits_;
    return true;
}

bool RudePeer::control(std::span<const rpc::ControlRecord> records, std::uint8_t flags) {
    if (keeps_to_slots_ && (!was_connected_ || control_unacked_)) return false;
    control_unacked_ = true;
    std::vector<std::byte> bytes(rpc::control_header_bytes + records.size() * rpc::control_record_bytes);
    Writer writer(bytes);
    rpc::encode_control_header(flags, static_cast<std::uint16_t>(records.size()), writer);
    for (const rpc::ControlRecord& record : records) rpc::encode_control(record, writer);
    return frame(bytes, 0);
}

// Without it the target has no way to tell of more credits.
bool RudePeer::acknowledge() {
    std::array<std::byte, rpc::control_header_bytes> bytes{};
    Writer writer(bytes);
    rpc::encode_control_header(rpc::control_is_ack, 0, writer);
    return frame(bytes, 0);
}

void RudePeer::take(const na::Arrival& arrival) noexcept {
    notice_connection();  // it may have come in the same moment
    rpc::ReplyHeader header;
    ConstBytes payload;
    if (rpc::frame_kind(arrival.bytes) == static_cast<std::uint8_t>(rpc::FrameKind::reply)) {
        if (rpc::decode_reply(arrival.bytes, header, payload) == Errc::ok) credits_ += header.credits;
        return;
    }
    Reader reader(arrival.bytes);
    std::uint8_t flags = 0;
    std::uint16_t records = 0;
    if (rpc::decode_control_header(reader, flags, records) != Errc::ok) return;
    if ((flags & rpc::control_is_ack) != 0) control_unacked_ = false;
    if ((flags & rpc::control_wants_ack) != 0) owes_ack_ = true;
    for (std::uint16_t i = 0; i < records; ++i) {
        const rpc::ControlRecord record = rpc::decode_control(reader);
        if (record.type == rpc::ControlType::grant) credits_ += record.value;
    }
}

ConstBytes RudePeer::lend(std::size_t bytes, Bytes room) {
    if (!lease_.granted()) {
        memory_.resize(bytes);
        const na::Segment segment{memory_.data(), memory_.size()};
        registered_ = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
        lease_.memory = registered_.get();
        lease_.bytes = bytes;
        lease_.access = na::Access::read_write;
        EXPECT_EQ(transport_->grant(lease_), Errc::ok);
    }
    Writer writer(room);
    na::Lease* const lease = &lease_;
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    EXPECT_TRUE(writer.ok());
    return ConstBytes(room).first(writer.size());
}

}  // namespace cinnabar::hostile
