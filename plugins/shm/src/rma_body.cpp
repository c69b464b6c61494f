// SPDX-License-Identifier: BSD-3-Clause
#include "rma_body.hpp"

namespace cinnabar::shm {
namespace {

bool carries_data(RecordKind kind) noexcept { return kind == RecordKind::put || kind == RecordKind::get_data; }

bool is_answer(RecordKind kind) noexcept {
    return kind == RecordKind::get_failed || kind == RecordKind::put_done || kind == RecordKind::atomic_done;
}

bool known(RecordKind kind) noexcept {
    return kind == RecordKind::unexpected || kind == RecordKind::expected ||
           (kind >= RecordKind::get && kind <= RecordKind::bye);
}

}  // namespace

void encode_body(RecordKind kind, const RmaBody& body, Bytes out) noexcept {
    Writer writer(out);
    if (kind == RecordKind::atomic_done) return writer.u64(body.value);
    if (body_bytes(kind) == 0) return;
    body.key.encode(writer);
    writer.u64(body.offset);
    if (kind == RecordKind::get) {
        writer.u64(body.left);
    } else if (kind == RecordKind::put) {
        writer.u64(body.left);
        writer.u32(body.notify);
        writer.u32(0);
    } else {
        writer.u64(body.operand);
        writer.u64(body.compare);
    }
}

Errc decode_body(const Record& record, ConstBytes in, RmaBody& out) noexcept {
    const RecordKind kind = record.kind;
    if (!known(kind)) return Errc::protocol;
    if (kind == RecordKind::unexpected || kind == RecordKind::expected) {
        return record.flags == 0 && record.status == 0 ? Errc::ok : Errc::protocol;
    }
    if ((record.flags & ~(kind == RecordKind::put ? flag_notify : 0)) != 0) return Errc::protocol;
    if (record.status >= errc_count || (record.status != 0 && !is_answer(kind))) return Errc::protocol;
    const std::size_t bytes = body_bytes(kind);
    if (record.bytes < bytes || in.size() < bytes) return Errc::protocol;
    if (record.bytes > bytes && !carries_data(kind)) return Errc::protocol;
    Reader reader(in.first(bytes));
    if (kind == RecordKind::atomic_done) {
        out.value = reader.u64();
        return Errc::ok;
    }
    if (bytes == 0) return Errc::ok;
    out.key = na::LeaseKey::decode(reader);
    out.offset = reader.u64();
    if (kind == RecordKind::get) {
        out.left = reader.u64();
    } else if (kind == RecordKind::put) {
        out.left = reader.u64();
        out.notify = reader.u32();
        const std::uint64_t data = record.bytes - bytes;
        // Only an operation of no bytes has a record without data.
        if (data > out.left || (data == 0 && out.left != 0)) return Errc::protocol;
    } else {
        out.operand = reader.u64();
        out.compare = reader.u64();
    }
    return Errc::ok;
}

}  // namespace cinnabar::shm
