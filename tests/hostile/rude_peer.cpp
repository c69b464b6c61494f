// SPDX-License-Identifier: BSD-3-Clause
#include "rude_peer.hpp"

#include <cinnabar/bulk/remote_region.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace cinnabar::hostile {
namespace {

constexpr std::size_t remembered_max = 32;
constexpr std::size_t results_max = 8;
constexpr std::size_t read_bytes_max = 1u << 20;

}  // namespace

struct RudePeer::Read {
    na::Op op;
    std::vector<std::byte> key;
    std::function<void(Errc)> ended;
    bool over = false;
};

RudePeer::RudePeer(std::shared_ptr<na::Transport> transport, na::ContextId context, Sends sends)
    : transport_(std::move(transport)) {
    receiver_.record = false;
    receiver_.on_arrival = [this](na::Arrival& arrival) { take(arrival); };
    na::ContextOptions options;
    options.threads = sends == Sends::at_once ? ThreadUse::many : ThreadUse::one;
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
    credits_ = was_connected_ ? peer_->initial_credits() - 1 : 0;  // the request that dialled has used one
    control_unacked_ = owes_ack_ = false;
    results_.clear();
}

RudePeer::Sent& RudePeer::idle_slot() {
    const auto idle = std::find_if(sent_.begin(), sent_.end(), [](const auto& sent) { return sent->free; });
    if (idle != sent_.end()) return **idle;
    sent_.push_back(std::make_unique<Sent>());
    sent_.back()->owner = this;
    return *sent_.back();
}

bool RudePeer::frame(ConstBytes bytes, na::Tag tag) {
    if (!send(na::OpKind::send_unexpected, bytes, tag)) return false;
    keep_in_mind(na::OpKind::send_unexpected, tag, bytes);
    return true;
}

void RudePeer::keep_in_mind(na::OpKind kind, na::Tag tag, ConstBytes bytes) {
    if (!remembers_) return;
    if (remembered_.size() == remembered_max) remembered_.pop_front();
    remembered_.push_back({kind, tag, {bytes.begin(), bytes.end()}});
}

// If the peer keeps to the slots, each replayed frame takes the slot of a request that it could send.
bool RudePeer::replay(const Frame& frame) {
    if (frame.bytes.size() > peer_->message_bytes_max()) return false;
    if (keeps_to_slots_ && (!was_connected_ || credits_ == 0)) return false;
    if (!send(frame.kind, frame.bytes, frame.tag)) return false;
    replayed_.insert(frame.tag);
    if (credits_ != 0) --credits_;
    return true;
}

bool RudePeer::send(na::OpKind kind, ConstBytes bytes, na::Tag tag) {
    na::Message* const message = peer_->port().take_message();
    if (!message) return false;
    Sent& sent = idle_slot();
    std::copy(bytes.begin(), bytes.end(), message->bytes().begin());
    sent.op.kind = kind;
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
    ByteWriter writer(bytes);
    rpc::encode_control_header(flags, static_cast<std::uint16_t>(records.size()), writer);
    for (const rpc::ControlRecord& record : records) rpc::encode_control(record, writer);
    return frame(bytes, 0);
}

// Without an acknowledgement the target cannot grant more credits.
bool RudePeer::acknowledge() {
    std::array<std::byte, rpc::control_header_bytes> bytes{};
    ByteWriter writer(bytes);
    rpc::encode_control_header(rpc::control_is_ack, 0, writer);
    return frame(bytes, 0);
}

void RudePeer::take(const na::Arrival& arrival) noexcept {
    notice_connection();  // the connection may have been established at the same moment
    rpc::ReplyHeader header;
    ConstBytes payload;
    const std::uint8_t kind = rpc::frame_kind(arrival.bytes);
    const bool is_reply = kind == static_cast<std::uint8_t>(rpc::FrameKind::reply);
    keep_in_mind(is_reply ? na::OpKind::send_expected : na::OpKind::send_unexpected, arrival.tag, arrival.bytes);
    if (is_reply) {
        if (rpc::decode_reply(arrival.bytes, header, payload) != Errc::ok) return;
        ++replies_;
        credits_ += header.credits;
        if (!remembers_ || (header.flags & rpc::flag_large) == 0) return;
        if (results_.size() == results_max) results_.pop_front();
        return (void)results_.push_back({arrival.tag, {payload.begin(), payload.end()}});
    }
    if (kind == static_cast<std::uint8_t>(rpc::FrameKind::request)) ++calls_from_others_;
    ByteReader reader(arrival.bytes);
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

bool RudePeer::give_back(Result& result) {
    const rpc::ControlRecord record{rpc::ControlType::fetched, 0, result.tag};
    result.given_back = control({&record, 1}, rpc::control_wants_ack);
    return result.given_back;
}

void RudePeer::read(ConstBytes descriptor, std::function<void(Errc)> ended) {
    std::erase_if(reads_, [](const auto& read) { return read->over; });
    bulk::RemoteRegion remote;
    ByteReader reader(descriptor);
    if (bulk::RemoteRegion::decode(reader, remote) != Errc::ok) return ended(Errc::protocol);
    auto made = std::make_unique<Read>();
    const ConstBytes key = remote.key_for(transport_->scheme());
    made->key.assign(key.begin(), key.end());
    if (!sink_registered_) {
        sink_.resize(read_bytes_max);
        const na::Segment segment{sink_.data(), sink_.size()};
        sink_registered_ = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
    }
    made->ended = [this, ended = std::move(ended)](Errc result) {
        ++reads_ended_;
        ended(result);
    };
    na::Op& op = made->op;
    op.kind = na::OpKind::get;
    op.peer = peer_;
    op.local = sink_registered_.get();
    op.remote = {made->key, remote.bytes()};
    op.bytes = std::min<std::uint64_t>(remote.bytes(), read_bytes_max);
    op.user = made.get();
    op.complete = [](na::Op& over) noexcept {
        auto& read = *static_cast<Read*>(over.user);
        read.over = true;
        read.ended(over.result);
    };
    if (const Errc refused = context_->post(op); refused != Errc::ok) return made->ended(refused);
    ++frames_;
    reads_.push_back(std::move(made));
}

bool RudePeer::is_reading() const noexcept {
    return std::ranges::any_of(reads_, [](const auto& read) { return !read->over; });
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
    ByteWriter writer(room);
    na::Lease* const lease = &lease_;
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    EXPECT_TRUE(writer.ok());
    return ConstBytes(room).first(writer.size());
}

}  // namespace cinnabar::hostile
