// SPDX-License-Identifier: BSD-3-Clause
// SipHash-2-4: a keyed hash that cannot be computed or guessed without the key. For seals on short records that
// untrusted peers send back. Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cinnabar {

using SipKey = std::array<std::uint64_t, 2>;

namespace detail {

struct SipState {
    std::uint64_t a, b, c, d;

    void rounds(int count) noexcept {
        for (int i = 0; i < count; ++i) {
            a += b, c += d;
            b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32);
            c += b, a += d;
            b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
            c = std::rotl(c, 32);
        }
    }
    void take(std::uint64_t word) noexcept {
        d ^= word;
        rounds(2);
        a ^= word;
    }
};

}  // namespace detail

[[nodiscard]] inline std::uint64_t siphash(const SipKey& key, ConstBytes bytes) noexcept {
    static_assert(std::endian::native == std::endian::little);
    detail::SipState state{key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                           key[1] ^ 0x7465646279746573u};
    std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
    for (; bytes.size() >= sizeof(last); bytes = bytes.subspan(sizeof(last))) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof(word));
        state.take(word);
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) last |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    state.take(last);
    state.c ^= 0xff;
    state.rounds(4);
    return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace cinnabar
