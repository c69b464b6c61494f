// SPDX-License-Identifier: BSD-3-Clause
// Two checksums of a file that arrives in file order: one of the whole file, and one of the part that the sender reads
// for this save. The part begins after the bytes that the receiver knew already. One thread at a time.
#pragma once

#include "file/checksum.hpp"

#include <cinnabar/base/bytes.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::files {

class ArrivingSum {
  public:
    ArrivingSum() = default;
    // The sender skips the first `bytes` of the file, whose checksum is `known`.
    ArrivingSum(Checksum known, std::uint64_t bytes)
        : whole_(std::move(known)), bytes_(bytes), read_(std::make_unique<Checksum>()) {}
    ArrivingSum(const ArrivingSum& other)
        : whole_(other.whole_),
          bytes_(other.bytes_),
          read_(other.read_ ? std::make_unique<Checksum>(*other.read_) : nullptr) {}
    ArrivingSum(ArrivingSum&&) noexcept = default;
    ArrivingSum& operator=(const ArrivingSum&) = delete;
    ArrivingSum& operator=(ArrivingSum&&) noexcept = default;
    ~ArrivingSum() = default;

    void update(ConstBytes bytes) noexcept {
        whole_.update(bytes);
        bytes_ += bytes.size();
        if (read_) read_->update(bytes);
    }
    void update_zeros(std::uint64_t bytes) noexcept {
        whole_.update_zeros(bytes);
        bytes_ += bytes;
        if (read_) read_->update_zeros(bytes);
    }
    [[nodiscard]] const Checksum& whole() const noexcept { return whole_; }
    // The number of bytes, from the beginning of the file, that whole() covers.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    // The checksum of what the sender has read so far, to be compared with the sender's own.
    [[nodiscard]] std::uint64_t read() const noexcept { return (read_ ? *read_ : whole_).digest(); }

  private:
    Checksum whole_;
    std::uint64_t bytes_ = 0;
    std::unique_ptr<Checksum> read_;  // null: the sender reads the whole file
};

}  // namespace cinnabar::files
