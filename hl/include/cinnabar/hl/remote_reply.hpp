// SPDX-License-Identifier: BSD-3-Clause
// RemoteReply: the owner's answer, with the bytes that were read, or none if they were moved in bulk.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cinnabar::hl {

class RemoteReply {
  public:
    static constexpr std::uint64_t proc_shape = 0x796c7065;
    static constexpr bool proc_borrows = false;

    // Makes room for that many bytes, to be filled by the caller.
    [[nodiscard]] Bytes resize(std::size_t bytes) {
        bytes_ = bytes;
        if (bytes > small_.size()) large_.resize(bytes);
        return bytes > small_.size() ? Bytes(large_) : Bytes(small_).first(bytes);
    }
    [[nodiscard]] ConstBytes contents() const noexcept {
        return bytes_ > small_.size() ? ConstBytes(large_) : ConstBytes(small_).first(bytes_);
    }

    template <class P>
    void proc(P& p) {
        if constexpr (P::decoding) {
            const std::size_t bytes = p.count(1, 1);
            const ConstBytes from = p.view(bytes);
            if (!from.empty()) std::memcpy(resize(bytes).data(), from.data(), from.size());
        } else {
            p.count(bytes_);
            p.raw(contents().data(), bytes_);
        }
    }

  private:
    std::array<std::byte, 64> small_{};  // words and small objects need no allocation
    std::vector<std::byte> large_;
    std::size_t bytes_ = 0;
};

}  // namespace cinnabar::hl
