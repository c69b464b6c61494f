// SPDX-License-Identifier: BSD-3-Clause
// Where the records of TLS begin and end in the bytes of one direction (RFC 8446, 5.1: type, version, and at offset 3
// the length of what follows, 2 bytes, big-endian). OpenSSL does not tell whether it holds a part of one. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::tcp {

class RecordCuts {
  public:
    // The next bytes. Records of any length are followed: which of them are too long is OpenSSL's to say.
    void came(const char* bytes, std::size_t count) noexcept {
        while (count > 0) {
            std::size_t part = 1;
            if (head_ < head_bytes) {
                take_head(static_cast<unsigned char>(*bytes));
            } else {
                part = std::min(count, left_);
                left_ -= part;
            }
            if (head_ == head_bytes && left_ == 0) head_ = 0;
            bytes += part;
            count -= part;
        }
    }
    // How many have begun.
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
    // Whether the last one is not whole yet.
    [[nodiscard]] bool partial() const noexcept { return head_ > 0; }

  private:
    static constexpr std::size_t head_bytes = 5;

    void take_head(unsigned char byte) noexcept {
        if (head_++ == 0) {
            ++begun_;
            left_ = 0;
        }
        if (head_ > 3) left_ = left_ << 8 | byte;
    }

    std::uint64_t begun_ = 0;
    std::size_t head_ = 0;  // bytes of the head that have come; 0: between two records
    std::size_t left_ = 0;  // bytes behind the head that have not
};

}  // namespace cinnabar::tcp
