// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/access_frame.hpp>

namespace cinnabar::na {
namespace {

bool is_answer(AccessKind kind) noexcept {
    return kind == AccessKind::get_failed || kind == AccessKind::put_done || kind == AccessKind::atomic_done;
}

}  // namespace

Errc check_access(const AccessHead& head) noexcept {
    if ((head.flags & ~(head.kind == AccessKind::put ? access_notify : 0)) != 0) return Errc::protocol;
    if (!is_known(head.status)) return Errc::protocol;
    if (head.status != Errc::ok && !is_answer(head.kind)) return Errc::protocol;
    if (head.status == Errc::ok && head.kind == AccessKind::get_failed) return Errc::protocol;
    return head.data_bytes > 0 && !carries_data(head.kind) ? Errc::protocol : Errc::ok;
}

Errc decode_access_body(const AccessHead& head, ConstBytes in, AccessBody& out) noexcept {
    if (in.size() < access_body_bytes(head.kind)) return Errc::protocol;
    ByteReader reader(in.first(access_body_bytes(head.kind)));
    switch (head.kind) {
        case AccessKind::get:
            out.key = LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.left = reader.u64();
            break;
        case AccessKind::put:
            out.key = LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.left = reader.u64();
            out.notify = reader.u32();
            if (reader.u32() != 0) return Errc::protocol;
            if (head.data_bytes > out.left) return Errc::protocol;
            // Only an operation of 0 bytes has a frame without data; otherwise an operation might never end.
            if (head.data_bytes == 0 && out.left != 0) return Errc::protocol;
            break;
        case AccessKind::fetch_add:
        case AccessKind::compare_swap:
            out.key = LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.operand = reader.u64();
            out.compare = reader.u64();
            if (head.kind == AccessKind::fetch_add && out.compare != 0) return Errc::protocol;
            break;
        case AccessKind::atomic_done:
            out.value = reader.u64();
            break;
        default:
            break;
    }
    return Errc::ok;
}

std::size_t encode_access_body(AccessKind kind, const AccessBody& body, Bytes out) noexcept {
    ByteWriter writer(out.first(access_body_bytes(kind)));
    switch (kind) {
        case AccessKind::get:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.left);
            break;
        case AccessKind::put:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.left);
            writer.u32(body.notify);
            writer.u32(0);
            break;
        case AccessKind::fetch_add:
        case AccessKind::compare_swap:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.operand);
            writer.u64(kind == AccessKind::compare_swap ? body.compare : 0);
            break;
        case AccessKind::atomic_done:
            writer.u64(body.value);
            break;
        default:
            break;
    }
    return writer.size();
}

}  // namespace cinnabar::na
