// SPDX-License-Identifier: BSD-3-Clause
// The transport-independent part of an access to memory: kind, flags, status, 0, u32 bytes of data, u64 id, then the
// body. An accepted one respects the limits on which both sides rely, and encodes to bytes that decode to the same.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/access_frame.hpp>

#include <array>

using namespace cinnabar;
using namespace cinnabar::na;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    ByteReader reader(std::as_bytes(std::span(bytes, size)));
    const std::uint8_t kind = reader.u8();
    AccessHead head;
    head.kind = static_cast<AccessKind>(kind);
    head.flags = reader.u8();
    head.status = static_cast<Errc>(reader.u8());
    reader.skip(1);
    head.data_bytes = reader.u32();
    head.id = reader.u64();
    if (!reader.ok() || !is_access(kind) || check_access(head) != Errc::ok) return 0;
    CINNABAR_ASSERT(is_known(head.status));
    CINNABAR_ASSERT(head.data_bytes == 0 || carries_data(head.kind));
    const std::size_t length = access_body_bytes(head.kind);
    CINNABAR_ASSERT(length <= access_body_bytes_max);
    const ConstBytes in = reader.view(length);
    AccessBody body;
    if (!reader.ok() || decode_access_body(head, in, body) != Errc::ok) return 0;
    CINNABAR_ASSERT(head.kind != AccessKind::put || head.data_bytes <= body.left);
    CINNABAR_ASSERT(head.kind != AccessKind::put || (head.data_bytes == 0) == (body.left == 0));
    std::array<std::byte, access_body_bytes_max> again{};
    CINNABAR_ASSERT(encode_access_body(head.kind, body, again) == length);
    AccessBody same;
    CINNABAR_ASSERT(decode_access_body(head, again, same) == Errc::ok);
    CINNABAR_ASSERT(same.key == body.key && same.offset == body.offset && same.left == body.left);
    CINNABAR_ASSERT(same.notify == body.notify && same.operand == body.operand);
    CINNABAR_ASSERT(same.compare == body.compare && same.value == body.value);
    return 0;
}
