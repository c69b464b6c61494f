// SPDX-License-Identifier: BSD-3-Clause
// Frames of puts, gets and atomics that the owner of the memory carries out, on any transport: kind, flags, status, id,
// body, data. docs/wire-format-tcp.md defines them. Pure functions; the bytes are hostile input.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

// The numbers are the same on every transport. The origin of an operation chooses its id, and answers repeat the id.
enum class AccessKind : std::uint8_t {
    get = 16,
    get_data = 17,
    get_failed = 18,
    put = 19,
    put_done = 20,
    stop = 21,  // the origin of a get cancels it
    fetch_add = 22,
    compare_swap = 23,
    atomic_done = 24,
};

inline constexpr std::uint8_t access_notify = 1;  // flag of a put

struct AccessHead {
    AccessKind kind = AccessKind::get;
    std::uint8_t flags = 0;
    Errc status = Errc::ok;        // in get_failed, put_done, atomic_done
    std::uint64_t data_bytes = 0;  // bytes after the body; in get_data and put
    std::uint64_t id = 0;
};

// The fields between header and data. The kind decides which of them are present.
struct AccessBody {
    LeaseKey key;               // get, put, atomics
    std::uint64_t offset = 0;   // get, put, atomics
    std::uint64_t left = 0;     // get: bytes wanted; put: bytes of the operation from this frame's data on
    std::uint32_t notify = 0;   // put: the value, valid with access_notify and in the operation's last frame
    std::uint64_t operand = 0;  // atomics: the addend, or the new value
    std::uint64_t compare = 0;  // compare_swap
    std::uint64_t value = 0;    // atomic_done: the value before the operation
};

inline constexpr std::size_t access_body_bytes_max = LeaseKey::wire_bytes + 24;

[[nodiscard]] constexpr bool is_access(std::uint8_t kind) noexcept {
    return kind >= static_cast<std::uint8_t>(AccessKind::get) &&
           kind <= static_cast<std::uint8_t>(AccessKind::atomic_done);
}
[[nodiscard]] constexpr bool carries_data(AccessKind kind) noexcept {
    return kind == AccessKind::get_data || kind == AccessKind::put;
}
[[nodiscard]] constexpr std::size_t access_body_bytes(AccessKind kind) noexcept {
    switch (kind) {
        case AccessKind::get:
            return LeaseKey::wire_bytes + 16;
        case AccessKind::put:
        case AccessKind::fetch_add:
        case AccessKind::compare_swap:
            return LeaseKey::wire_bytes + 24;
        case AccessKind::atomic_done:
            return 8;
        default:
            return 0;
    }
}

// protocol: flags, a status or data that this kind cannot have. Requires: is_access.
[[nodiscard]] CINNABAR_API Errc check_access(const AccessHead& head) noexcept;
// Decodes what follows the head of a frame. protocol: `in` is shorter than access_body_bytes; a put with more data than
// `left`, or a put with no data although `left` is not 0. Requires: check_access returned ok.
[[nodiscard]] CINNABAR_API Errc decode_access_body(const AccessHead& head, ConstBytes in, AccessBody& out) noexcept;
// Returns access_body_bytes. Requires: `out` is that large.
CINNABAR_API std::size_t encode_access_body(AccessKind kind, const AccessBody& body, Bytes out) noexcept;

}  // namespace cinnabar::na
