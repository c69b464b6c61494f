// SPDX-License-Identifier: BSD-3-Clause
// The pieces of registered memory, and copies out of them and into them.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/memory.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cinnabar::ofi {

inline constexpr std::size_t pieces_limit = 8;

// The pieces of [offset, offset + bytes), how many; 0 when they are more than `most`.
[[nodiscard]] inline std::size_t gather(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes,
                                        std::array<iovec, pieces_limit>& out, std::size_t most) noexcept {
    std::uint64_t covered = 0;
    const std::size_t count = memory.gather(offset, bytes, out.data(), std::min(most, out.size()), covered);
    return covered == bytes ? count : 0;
}

// Calls `copy(piece, at)` for each piece, `at` counted from `offset`.
template <typename F>
void each_piece(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, F&& copy) noexcept {
    std::array<iovec, pieces_limit> pieces;
    for (std::uint64_t at = 0; at < bytes;) {
        std::uint64_t covered = 0;
        const std::size_t count = memory.gather(offset + at, bytes - at, pieces.data(), pieces.size(), covered);
        for (std::size_t i = 0; i < count; ++i) {
            copy(pieces[i], at);
            at += pieces[i].iov_len;
        }
    }
}
inline void copy_out(const na::Memory& memory, std::uint64_t offset, Bytes to) noexcept {
    each_piece(memory, offset, to.size(), [&](const iovec& piece, std::uint64_t at) {
        std::memcpy(to.data() + at, piece.iov_base, piece.iov_len);
    });
}
inline void copy_in(const na::Memory& memory, std::uint64_t offset, ConstBytes from) noexcept {
    each_piece(memory, offset, from.size(), [&](const iovec& piece, std::uint64_t at) {
        std::memcpy(piece.iov_base, from.data() + at, piece.iov_len);
    });
}

}  // namespace cinnabar::ofi
