// SPDX-License-Identifier: BSD-3-Clause
// Session: writes into the ring, in this order: messages, notifications of copied puts, answers, requests, data. Data
// use at most half of the ring, so that there is room for the other records.
#include "port.hpp"

#include <algorithm>
#include <cstring>

namespace cinnabar::shm {
namespace {

Record record_of(const na::AccessHead& head, std::uint32_t bytes) noexcept {
    return {static_cast<RecordKind>(head.kind), head.flags, static_cast<std::uint8_t>(head.status), bytes, head.id};
}

}  // namespace

void Session::transmit() noexcept {
    if (!is_open() || peer().ending()) return;
    admit_waiting();
    const bool all = send_messages() && send_notifies() && send_answers() && send_requests() && send_data();
    peer().delayed = !all;
    if (writer_.broken()) {
        malformed();
    } else if (!all) {
        writer_.wait_for_room();
        port_->output().block(*this);
    }
}

// Writes an access record without data.
bool Session::write(const na::AccessHead& head, const na::AccessBody& body) noexcept {
    const auto bytes = static_cast<std::uint32_t>(na::access_body_bytes(head.kind));
    std::byte* const to = writer_.reserve(bytes);
    if (!to) return false;
    (void)na::encode_access_body(head.kind, body, {to, bytes});
    writer_.publish(record_of(head, bytes));
    port_->wrote(*this);
    return true;
}

bool Session::write_message(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    static_assert(static_cast<unsigned>(na::OpKind::send_unexpected) == 0 &&
                  static_cast<unsigned>(na::OpKind::send_expected) == 1);
    static_assert(static_cast<unsigned>(RecordKind::unexpected) + 1 == static_cast<unsigned>(RecordKind::expected));
    const auto record =
        static_cast<RecordKind>(static_cast<unsigned>(RecordKind::unexpected) + static_cast<unsigned>(kind));
    if (!writer_.write(record, tag, message.data(), static_cast<std::uint32_t>(message.size()))) return false;
    port_->wrote(*this);
    port_->small_traffic();
    return true;
}

bool Session::send_messages() noexcept {
    na::PostedOps& waiting = peer().messages;
    while (na::PostedOp* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        port_->show_delayed(peer(), op);
        if (!write_message(op.kind, op.tag, {op.message->payload, op.message_bytes})) return false;
        waiting.remove(*posted);
        port_->end(*posted, Errc::ok);
    }
    return true;
}

bool Session::send_notifies() noexcept {
    na::PostedOps& waiting = copier_.notifies();
    while (na::PostedOp* posted = waiting.front()) {
        if (!writer_.reserve(0)) return false;
        writer_.publish({RecordKind::notify, 0, 0, 0, posted->op->notify});
        port_->wrote(*this);
        waiting.remove(*posted);
        port_->end(*posted, Errc::ok);
    }
    return true;
}

bool Session::send_answers() noexcept {
    return write_answers([this](const na::AccessHead& head, const na::AccessBody& body) { return write(head, body); });
}

bool Session::send_requests() noexcept {
    return write_requests([this](const na::AccessHead& head, const na::AccessBody& body) { return write(head, body); });
}

// Bytes of data that the next record may have. 0: the remaining room is reserved for messages.
std::uint32_t Session::data_room() noexcept {
    if (writer_.used() > writer_.ring_bytes() / 2) return 0;
    return channel_.outgoing_record_bytes_max - static_cast<std::uint32_t>(na::access_body_bytes_max);
}

bool Session::send_data() noexcept {
    while (!puts_.empty() || !gets_.empty()) {
        if (!(get_has_turn() ? send_get(*gets_.front()) : send_put(*puts_.front()))) return false;
    }
    return send_answers();  // a get whose lease was revoked has become an answer
}

bool Session::send_put(na::PostedOp& posted) noexcept {
    const na::Op& op = *posted.op;
    const std::uint32_t room = data_room();
    const na::AccessBody body = body_of(posted);
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(body.left, room));
    const auto head = static_cast<std::uint32_t>(na::access_body_bytes(na::AccessKind::put));
    std::byte* const to = room > 0 ? writer_.reserve(head + part) : nullptr;
    if (!to) return false;
    (void)na::encode_access_body(na::AccessKind::put, body, {to, head});
    op.local->copy_out(op.local_offset + posted.moved, {to + head, part});
    writer_.publish(record_of(head_of(posted), head + part));
    port_->wrote(*this);
    posted.moved += part;
    puts_.remove(posted);
    framed(posted);
    return true;
}

bool Session::send_get(na::PendingAnswer& get) noexcept {
    const std::uint32_t room = data_room();
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(get.left, room));
    std::byte* const to = room > 0 ? writer_.reserve(part) : nullptr;
    if (!to) return false;
    gets_.remove(get);
    {
        const auto pin = pin_for_get(get, part);
        if (!pin.ok()) return true;
        pin.memory().copy_out(pin.offset(), {to, part});
    }
    writer_.publish(record_of(head_of(get), part));
    port_->wrote(*this);
    get.offset += part;
    get.left -= part;
    framed(get);
    return true;
}

}  // namespace cinnabar::shm
