// SPDX-License-Identifier: BSD-3-Clause
#include "piece.hpp"

#include "frame.hpp"

#include <cstring>

namespace cinnabar::ofi {

void PieceName::set_key(std::uint64_t plain) noexcept {
    key_bytes = sizeof plain;
    Writer writer({key.data(), sizeof plain});
    writer.u64(plain);
}

bool PieceName::plain_key(std::uint64_t& out) const noexcept {
    Reader reader({key.data(), sizeof out});
    out = reader.u64();
    return key_bytes == sizeof out;
}

void Piece::encode(Writer& writer) const noexcept {
    writer.u64(name.address);
    writer.u64(bytes);
    writer.u32(name.key_bytes);
    writer.u32(0);
    constexpr std::array<std::byte, 8> zeros{};
    writer.bytes({name.key.data(), name.key_bytes});
    writer.bytes({zeros.data(), padded(name.key_bytes) - name.key_bytes});
}

bool Piece::decode(Reader& reader, Piece& out) noexcept {
    out.name.address = reader.u64();
    out.bytes = reader.u64();
    out.name.key_bytes = reader.u32();
    (void)reader.u32();
    if (!reader.ok() || out.bytes == 0 || out.name.key_bytes == 0 || out.name.key_bytes > key_bytes_max) return false;
    const ConstBytes key = reader.view(padded(out.name.key_bytes));
    if (!reader.ok()) return false;
    std::memcpy(out.name.key.data(), key.data(), out.name.key_bytes);
    return true;
}

}  // namespace cinnabar::ofi
