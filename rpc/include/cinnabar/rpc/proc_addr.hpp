// SPDX-License-Identifier: BSD-3-Clause
// Addresses as arguments and results: a u32 size, then the encoded address (docs/wire-format.md, "Addresses"); size 0
// is an empty address. Encoding the address of a peer that does not listen fails with `unreachable`, since other
// processes could not use it.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstddef>
#include <vector>

namespace cinnabar::na {

template <class P>
void proc(P& p, Addr& addr) {
    if constexpr (P::decoding) {
        const ConstBytes bytes = p.view(p.count(1, 0));
        addr = {};
        if (bytes.empty()) return;
        ByteReader reader(bytes);
        auto read = Addr::decode(reader);
        if (!read || !read->listens() || reader.left() != 0) return p.fail(Errc::protocol);
        addr = *std::move(read);
    } else {
        if (!addr.empty() && !addr.listens()) return p.fail(Errc::unreachable);
        const std::size_t size = addr.empty() ? 0 : addr.encoded_bytes();
        p.count(size);
        if (size == 0) return;
        if constexpr (P::sizing) {
            p.raw(nullptr, size);
        } else {
            std::vector<std::byte> bytes(size);
            ByteWriter writer{Bytes(bytes)};
            addr.encode(writer);
            p.raw(bytes.data(), size);
        }
    }
}

}  // namespace cinnabar::na
