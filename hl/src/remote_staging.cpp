// SPDX-License-Identifier: BSD-3-Clause
#include "remote_staging.hpp"

namespace cinnabar::hl {
namespace {

constexpr std::size_t staged_bytes_max = std::size_t{2} << 20;
constexpr std::size_t staged_bytes_min = std::size_t{64} << 10;

}  // namespace

Result<Buffer> take_staging(Buffers& buffers, std::uint64_t bytes, const na::Addr& peer) {
    auto room = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, staged_bytes_max));
    for (;; room /= 2) {
        Result<Buffer> buffer = buffers.take(room, peer);
        if (buffer.code() != Errc::overloaded || room / 2 < staged_bytes_min) return buffer;
    }
}

}  // namespace cinnabar::hl
