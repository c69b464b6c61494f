// SPDX-License-Identifier: BSD-3-Clause
#include "flat_copy.hpp"

#include <sys/uio.h>

#include <array>
#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr std::size_t flat_pieces_max = 64;

// Copies a range of a registration to a flat place, or back.
template <typename Copy>
void each_piece(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes, Copy copy) noexcept {
    std::array<iovec, flat_pieces_max> pieces;
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

}  // namespace cinnabar::shm
