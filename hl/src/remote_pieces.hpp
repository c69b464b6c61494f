// SPDX-License-Identifier: BSD-3-Clause
// Which pieces of shared memory a part of the caller's memory belongs to.
#pragma once

#include "remote_contracts.hpp"

#include <cinnabar/base/error.hpp>

#include <algorithm>
#include <cstdint>

namespace cinnabar::hl {

// Calls copy(grant, offset in the grant, part) for each piece that `bytes` belong to; stops at the first error. `bytes`
// start at `offset` in the caller's memory.
template <typename Call, typename Span, typename Copy>
[[nodiscard]] Errc each_piece(const Call& call, std::uint64_t offset, Span bytes, Copy copy) {
    for (const remote_calls::Piece& piece : call.pieces) {
        if (offset >= piece.bytes) {
            offset -= piece.bytes;
            continue;
        }
        const Span part = bytes.first(std::min<std::uint64_t>(bytes.size(), piece.bytes - offset));
        const Errc refused = copy(call.grants[piece.grant], piece.offset + offset, part);
        if (refused != Errc::ok) return refused;
        bytes = bytes.subspan(part.size());
        if (bytes.empty()) break;
        offset = 0;
    }
    return Errc::ok;
}

}  // namespace cinnabar::hl
