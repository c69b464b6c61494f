// SPDX-License-Identifier: BSD-3-Clause
// The answer to cinnabar.remote.map: {u64 bytes of the lease, u64 where the asked bytes begin in it, the key}.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::hl {

struct DirectDescription {
    static constexpr std::size_t head_bytes = 16;

    std::uint64_t lease_bytes = 0;
    std::uint64_t offset = 0;
    ConstBytes key;

    // False: too short.
    [[nodiscard]] bool decode(ConstBytes from) noexcept {
        if (from.size() <= head_bytes) return false;
        ByteReader reader(from.first(head_bytes));
        lease_bytes = reader.u64();
        offset = reader.u64();
        key = from.subspan(head_bytes);
        return true;
    }
    // Requires: `to` has head_bytes + key.size().
    void encode(Bytes to) const noexcept {
        ByteWriter writer(to);
        writer.u64(lease_bytes);
        writer.u64(offset);
        writer.bytes(key);
    }
};

}  // namespace cinnabar::hl
