// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes the frames that are sent over the fabric (docs/wire-format-ofi.md). Pure. The bytes are
// untrusted: a decoder either returns `protocol` or fills in a value that respects the given limits.
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

enum class FrameKind : std::uint8_t {
    probe = 1,   // the dialler tests whether the fabric carries messages
    answer = 2,  // the answer to a probe
    unexpected = 3,
    expected = 4,
    // Transfers. The origin of an operation chooses its `id`, and answers repeat it.
    get = 16,        // `tag`: of the first chunk; `chunk`: bytes of a chunk; 0: the data follow in a get_data frame
    get_data = 17,   // the data of a small get
    get_ended = 18,  // only `bytes` chunks were sent, because the lease does not allow more or a stop was received
    put = 19,        // `chunk` 0: the data are in this frame
    put_go = 20,     // the first `bytes` chunks may be sent, with `tag`
    put_done = 21,
    stop = 22,  // the origin cancels; `bytes`: chunks of a put that it has sent
    fetch_add = 23,
    compare_swap = 24,
    atomic_done = 25,
};

inline constexpr std::size_t frame_header_bytes = 32;
inline constexpr std::size_t transfer_body_bytes = 64;
inline constexpr std::size_t session_offset = 16;
// The most data of a small transfer; such data are part of a frame.
inline constexpr std::uint32_t small_bytes_max = 4096;
// Chunks of one transfer. The low bits of a chunk's tag are its number.
inline constexpr unsigned chunk_number_bits = 8;
inline constexpr std::uint32_t chunks_max = 1u << chunk_number_bits;
// Short enough for every provider (cxi has 48 bits).
inline constexpr unsigned chunk_tag_bits = 48;
inline constexpr std::uint32_t chunk_bytes_max = 16 * 1024 * 1024;

inline constexpr std::uint8_t flag_notify = 1;  // in a put

// {u8 kind, u8 flags, u8 status, u8 0, u32 bytes, u64 id, u32 session, u32 0, u64 check}
struct Frame {
    FrameKind kind = FrameKind::unexpected;
    std::uint8_t flags = 0;
    Errc status = Errc::ok;   // in get_ended, put_done, atomic_done
    std::uint32_t bytes = 0;  // of the message, or of the data after the body
    SessionName session;      // the receiver's name for the session
    std::uint64_t id = 0;     // for a message: its tag
};

// The body of a transfer frame, 64 bytes after the header: {lease key, u64 offset, u64 bytes, u64 tag, u64 operand, u64
// compare, u32 notify, u32 chunk}.
struct TransferBody {
    na::LeaseKey key;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // of the whole operation; get_ended, put_go, stop: a number of chunks
    std::uint64_t tag = 0;
    std::uint64_t operand = 0;  // atomics; atomic_done: the old value
    std::uint64_t compare = 0;
    std::uint32_t notify = 0;
    std::uint32_t chunk = 0;
};

// Whether `tag` may be that of the first chunk of a transfer.
[[nodiscard]] constexpr bool is_first_tag(std::uint64_t tag) noexcept {
    return (tag & (chunks_max - 1)) == 0 && (tag >> chunk_tag_bits) == 0;
}
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 7) & ~std::size_t{7}; }
[[nodiscard]] constexpr bool is_transfer(FrameKind kind) noexcept { return kind >= FrameKind::get; }
[[nodiscard]] constexpr std::size_t head_bytes(FrameKind kind) noexcept {
    return frame_header_bytes + (is_transfer(kind) ? transfer_body_bytes : 0);
}
[[nodiscard]] constexpr std::uint32_t chunks_of(std::uint64_t bytes, std::uint32_t chunk) noexcept {
    return static_cast<std::uint32_t>((bytes + chunk - 1) / chunk);
}

// The session that a frame names. If the frame is too short, a name that no session has.
[[nodiscard]] SessionName receiver_of(ConstBytes frame) noexcept;

// Encodes the header and, for a transfer, the body. Requires: room for head_bytes(frame.kind).
void encode(const Frame& frame, const TransferBody& body, Bytes out) noexcept;

// Decodes a whole frame. protocol: an unknown kind; flags, a status or lengths that the kind does not allow; a message
// over `message_bytes_max`; a transfer of more than chunks_max chunks. `payload`: the bytes after the head.
[[nodiscard]] Errc decode(ConstBytes in, std::size_t message_bytes_max, Frame& frame, TransferBody& body,
                          ConstBytes& payload) noexcept;

}  // namespace cinnabar::ofi
