// SPDX-License-Identifier: BSD-3-Clause
// What goes into the ring, and in which order: messages first, then small answers and questions, then data, which
// leaves half of the ring to the others.
#include "port.hpp"
#include "rma_copy.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr std::size_t pieces_max = 64;

// Copies a range of a registration to a flat place, or back.
template <typename Copy>
void each_piece(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, Copy copy) noexcept {
    std::array<iovec, pieces_max> pieces;
    while (bytes > 0) {
        std::uint64_t covered = 0;
        const std::size_t count = memory.gather(offset, bytes, pieces.data(), pieces.size(), covered);
        for (std::size_t i = 0; i < count; ++i) copy(pieces[i]);
        offset += covered;
        bytes -= covered;
    }
}

}  // namespace

void copy_out(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, std::byte* to) noexcept {
    each_piece(memory, offset, bytes, [&to](const iovec& piece) {
        std::memcpy(to, piece.iov_base, piece.iov_len);
        to += piece.iov_len;
    });
}

void copy_in(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, const std::byte* from) noexcept {
    each_piece(memory, offset, bytes, [&from](const iovec& piece) {
        std::memcpy(piece.iov_base, from, piece.iov_len);
        from += piece.iov_len;
    });
}

void Session::transmit() noexcept {
    if (!is_open() || peer().ending) return;
    admit_waiting();
    const bool all = send_messages() && send_notifies() && send_answers() && send_requests() && send_data();
    if (writer_.broken()) {
        nonsense();
    } else if (!all) {
        port_->blocked(*this);
    }
}

// A record without data.
bool Session::write(const Record& record, const RmaBody& body) noexcept {
    std::byte* const to = writer_.reserve(record.bytes);
    if (!to) return false;
    encode_body(record.kind, body, {to, record.bytes});
    writer_.publish(record);
    port_->wrote(*this);
    return true;
}

bool Session::send_messages() noexcept {
    PostedList& waiting = peer().messages;
    while (Posted* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        std::byte* const to = writer_.reserve(op.message_bytes);
        if (!to) return false;
        std::memcpy(to, op.message->payload, op.message_bytes);
        const bool unexpected = op.kind == na::OpKind::send_unexpected;
        writer_.publish({unexpected ? RecordKind::unexpected : RecordKind::expected, 0, 0, op.message_bytes, op.tag});
        waiting.remove(*posted);
        port_->wrote(*this);
        port_->small_traffic();
        port_->end(*posted, Errc::ok);
    }
    return true;
}

bool Session::send_notifies() noexcept {
    while (Posted* posted = notifies_.front()) {
        if (!write({RecordKind::notify, 0, 0, 0, posted->op->notify}, {})) return false;
        notifies_.remove(*posted);
        port_->end(*posted, Errc::ok);
    }
    return true;
}

bool Session::send_answers() noexcept {
    while (Owed* owed = answers_.front()) {
        RmaBody body;
        body.value = owed->value;
        const auto bytes = static_cast<std::uint32_t>(body_bytes(owed->kind));
        if (!write({owed->kind, 0, static_cast<std::uint8_t>(owed->status), bytes, owed->id}, body)) return false;
        answers_.remove(*owed);
        release(*owed);
    }
    return true;
}

bool Session::send_requests() noexcept {
    while (Posted* posted = requests_.front()) {
        const na::Op& op = *posted->op;
        RecordKind kind = RecordKind::get;
        if (op.kind == na::OpKind::fetch_add) kind = RecordKind::fetch_add;
        if (op.kind == na::OpKind::compare_swap) kind = RecordKind::compare_swap;
        const auto bytes = static_cast<std::uint32_t>(body_bytes(kind));
        if (!write({kind, 0, 0, bytes, id_of(*posted->slot)}, body_of(op))) return false;
        requests_.remove(*posted);
        posted->place = Place::awaiting;
        awaiting_.push_back(*posted);
    }
    return true;
}

// Bytes of data that the next record may have; 0 when messages should have what room there is.
std::uint32_t Session::data_room() noexcept {
    if (writer_.used() > writer_.ring_bytes() / 2) return 0;
    return channel_.peer_record_bytes_max - static_cast<std::uint32_t>(rma_body_bytes_max);
}

bool Session::send_data() noexcept {
    while (!puts_.empty() || !gets_.empty()) {
        get_turn_ = puts_.empty() || (!gets_.empty() && !get_turn_);
        if (!(get_turn_ ? send_get(*gets_.front()) : send_put(*puts_.front()))) return false;
    }
    return send_answers();  // of gets whose memory was taken back
}

bool Session::send_put(Posted& posted) noexcept {
    const na::Op& op = *posted.op;
    const std::uint32_t room = data_room();
    RmaBody body = body_of(op);
    body.offset += posted.moved;
    body.left -= posted.moved;
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(body.left, room));
    const std::uint32_t head = static_cast<std::uint32_t>(body_bytes(RecordKind::put));
    std::byte* const to = room > 0 ? writer_.reserve(head + part) : nullptr;
    if (!to) return false;
    encode_body(RecordKind::put, body, {to, head});
    copy_out(*op.local, op.local_offset + posted.moved, part, to + head);
    const std::uint8_t flags = op.kind == na::OpKind::put_notify ? flag_notify : std::uint8_t{0};
    writer_.publish({RecordKind::put, flags, 0, head + part, id_of(*posted.slot)});
    port_->wrote(*this);
    posted.moved += part;
    puts_.remove(posted);
    const bool all = posted.moved == op.bytes;
    posted.place = all ? Place::awaiting : Place::puts;
    (all ? awaiting_ : puts_).push_back(posted);
    return true;
}

bool Session::send_get(Owed& owed) noexcept {
    const std::uint32_t room = data_room();
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(owed.left, room));
    std::byte* const to = room > 0 ? writer_.reserve(part) : nullptr;
    if (!to) return false;
    gets_.remove(owed);
    {
        const auto pin = port_->transport().leases().pin(owed.key, owed.offset, part, na::Access::read);
        if (!pin.ok()) {
            owed.kind = RecordKind::get_failed;
            owed.status = pin.why();
            answers_.push_back(owed);
            return true;
        }
        copy_out(pin.memory(), pin.offset(), part, to);
    }
    writer_.publish({RecordKind::get_data, 0, 0, part, owed.id});
    port_->wrote(*this);
    owed.offset += part;
    owed.left -= part;
    if (owed.left == 0) {
        release(owed);
    } else {
        gets_.push_back(owed);
    }
    return true;
}

}  // namespace cinnabar::shm
