// SPDX-License-Identifier: BSD-3-Clause
// Follows the record boundaries in one direction of a TLS stream, because OpenSSL does not tell whether it holds a
// partial record. A record's header (RFC 8446, 5.1) has the payload length at offset 3: 2 bytes, big-endian. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::tls {

class RecordCuts {
  public:
    // Takes the next bytes. Accepts any length: OpenSSL rejects records that are too long.
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
    // How many records have begun.
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
    // Whether the last record is incomplete.
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
    std::size_t head_ = 0;  // header bytes received; 0: between two records
    std::size_t left_ = 0;  // payload bytes still to come
};

}  // namespace cinnabar::tls
