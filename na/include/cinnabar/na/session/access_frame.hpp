// SPDX-License-Identifier: BSD-3-Clause
// What travels of a put, a get or an atomic that the owner of the memory carries out, whatever carries it: a kind,
// flags, a status, an id, a body, and data. docs/wire-format-tcp.md says what each means. Pure; the bytes are hostile
// input.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

// The numbers are the same on every transport. The origin of an operation chooses its id, which comes back in answers.
enum class AccessKind : std::uint8_t {
    get = 16,
    get_data = 17,
    get_failed = 18,
    put = 19,
    put_done = 20,
    stop = 21,  // the origin of a get wants no more of it
    fetch_add = 22,
    compare_swap = 23,
    atomic_done = 24,
};

inline constexpr std::uint8_t access_notify = 1;  // flag of a put

struct AccessHead {
    AccessKind kind = AccessKind::get;
    std::uint8_t flags = 0;
    Errc status = Errc::ok;        // of get_failed, put_done, atomic_done
    std::uint64_t data_bytes = 0;  // behind the body; of get_data and put
    std::uint64_t id = 0;
};

// What stands between the header and the data, by kind.
struct AccessBody {
    LeaseKey key;               // get, put, atomics
    std::uint64_t offset = 0;   // get, put, atomics
    std::uint64_t left = 0;     // get: how much is wanted; put: of the operation from these data on
    std::uint32_t notify = 0;   // put: the value, meant with access_notify in the operation's last frame
    std::uint64_t operand = 0;  // atomics: the addend, or the new value
    std::uint64_t compare = 0;  // compare_swap
    std::uint64_t value = 0;    // atomic_done: what was there before
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

// protocol: flags, a status or data that the kind does not have. Requires: is_access.
[[nodiscard]] CINNABAR_API Errc check_access(const AccessHead& head) noexcept;
// protocol: fewer than access_body_bytes; a put with more data than are left of it, or with none that is not at its
// end. Requires: check_access says ok.
[[nodiscard]] CINNABAR_API Errc decode_access_body(const AccessHead& head, ConstBytes in, AccessBody& out) noexcept;
// Returns access_body_bytes. Requires: `out` has them.
CINNABAR_API std::size_t encode_access_body(AccessKind kind, const AccessBody& body, Bytes out) noexcept;

}  // namespace cinnabar::na
