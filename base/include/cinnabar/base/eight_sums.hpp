// SPDX-License-Identifier: BSD-3-Clause
// Eight sums, to each of which a number is added at the same time, with vector instructions where the processor has
// them. The sums have 32 bits and are added to 64-bit sums after every 256 additions. One thread.
#pragma once

#include <cinnabar/base/eight_buckets.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar {

class EightSums {
  public:
    // Requires: all eight are below eight_buckets_end.
    [[gnu::always_inline]] void add(const EightNumbers& numbers) noexcept {
#if defined(__SSE2__)
        add_four(recent_.data(), numbers[0], numbers[1]);
        add_four(recent_.data() + 4, numbers[2], numbers[3]);
#else
        for (std::size_t i = 0; i < recent_.size(); ++i)
            recent_[i] += static_cast<std::uint32_t>(numbers[i / 2] >> (i % 2 * 32));
#endif
        static_assert(eight_buckets_end <= (std::uint64_t{1} << 32) / 256);
        if (++recent_times_ == 0) [[unlikely]]
            carry_over();
    }
    // How often numbers were added.
    [[nodiscard]] std::uint64_t times() const noexcept { return carried_times_ + recent_times_; }
    [[nodiscard]] std::uint64_t sum(std::size_t index) const noexcept { return carried_[index] + recent_[index]; }

  private:
#if defined(__SSE2__)
    [[gnu::always_inline]] static void add_four(std::uint32_t* sums, std::uint64_t first,
                                                std::uint64_t second) noexcept {
        auto* const at = reinterpret_cast<__m128i*>(sums);
        const __m128i four = _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
        _mm_store_si128(at, _mm_add_epi32(four, _mm_load_si128(at)));
    }
#endif
    [[gnu::cold, gnu::noinline]] void carry_over() noexcept {
        carried_times_ += 256;
        for (std::size_t i = 0; i < recent_.size(); ++i) carried_[i] += recent_[i];
        recent_ = {};
    }

    alignas(16) std::array<std::uint32_t, 8> recent_{};
    std::uint8_t recent_times_ = 0;
    std::uint64_t carried_times_ = 0;
    std::array<std::uint64_t, 8> carried_{};
};

}  // namespace cinnabar
