// SPDX-License-Identifier: BSD-3-Clause
// The 64-bit XXH3 checksum of a whole file, updated piece by piece in file order. One thread at a time.
#pragma once

#include "file/xxh3.hpp"

#include <cinnabar/base/bytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace cinnabar::files {

class Checksum {
  public:
    Checksum() : state_(XXH3_createState()) {
        if (!state_) throw std::bad_alloc();
        XXH3_64bits_reset(state_.get());
    }
    // The copy continues independently of `other`.
    Checksum(const Checksum& other) : Checksum() { XXH3_copyState(state_.get(), other.state_.get()); }
    Checksum(Checksum&& other) noexcept = default;
    Checksum& operator=(const Checksum& other) = delete;
    Checksum& operator=(Checksum&& other) noexcept = default;
    ~Checksum() = default;

    void update(ConstBytes bytes) noexcept { xxh3_update(state_.get(), bytes); }
    void update_zeros(std::uint64_t bytes) noexcept {
        static constexpr std::array<std::byte, 64 << 10> zeros{};
        for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, zeros.size()))
            update(ConstBytes(zeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, zeros.size()))));
    }
    // The checksum of everything so far.
    [[nodiscard]] std::uint64_t digest() const noexcept { return XXH3_64bits_digest(state_.get()); }

  private:
    struct Free {
        void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> state_;
};

}  // namespace cinnabar::files
