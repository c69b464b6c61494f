// SPDX-License-Identifier: BSD-3-Clause
// What a record about somebody's memory carries in front of its data. Pure; hostile input.
#pragma once

#include "ring.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/lease_table.hpp>

namespace cinnabar::shm {

// get: key, offset, left (its length). put: key, offset, left (from these data to the operation's end), notify.
// fetch_add, compare_swap: key, offset, operand, compare. atomic_done: value. Others have none.
struct RmaBody {
    na::LeaseKey key;
    std::uint64_t offset = 0;
    std::uint64_t left = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::uint64_t value = 0;
    std::uint32_t notify = 0;
};

inline constexpr std::uint8_t flag_notify = 1;  // of put
inline constexpr std::size_t rma_body_bytes_max = na::LeaseKey::wire_bytes + 24;

[[nodiscard]] constexpr std::size_t body_bytes(RecordKind kind) noexcept {
    switch (kind) {
        case RecordKind::get:
            return na::LeaseKey::wire_bytes + 16;
        case RecordKind::put:
        case RecordKind::fetch_add:
        case RecordKind::compare_swap:
            return na::LeaseKey::wire_bytes + 24;
        case RecordKind::atomic_done:
            return 8;
        default:
            return 0;
    }
}

// Requires: `out` has body_bytes(kind).
void encode_body(RecordKind kind, const RmaBody& body, Bytes out) noexcept;
// protocol: a kind that is unknown, a length or flags that it does not have. `in` holds the body alone, copied out of
// shared memory.
[[nodiscard]] Errc decode_body(const Record& record, ConstBytes in, RmaBody& out) noexcept;

}  // namespace cinnabar::shm
