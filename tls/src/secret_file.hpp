// SPDX-License-Identifier: BSD-3-Clause
// Memory for secrets, and the files that contain them. Any thread, but one at a time per object.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::tls {

// Bytes on their own pages: excluded from core dumps, locked in memory if the limits allow it, and wiped at the end.
class SecretBytes {
  public:
    SecretBytes() = default;
    // out_of_memory.
    [[nodiscard]] static Result<SecretBytes> make(std::size_t bytes);
    SecretBytes(SecretBytes&& other) noexcept;
    SecretBytes& operator=(SecretBytes&& other) noexcept;
    ~SecretBytes();

    [[nodiscard]] Bytes bytes() noexcept { return {at_, size_}; }
    [[nodiscard]] ConstBytes bytes() const noexcept { return {at_, size_}; }
    [[nodiscard]] std::string_view text() const noexcept { return as_text(bytes()); }
    // Requires: at most the present size.
    void shorten(std::size_t bytes) noexcept { size_ = bytes; }

  private:
    std::byte* at_ = nullptr;
    std::size_t size_ = 0;
    std::size_t mapped_ = 0;
};

// Reads a whole file that only this user or root can have written, and that nobody else can read.
//   permission        others may read or write it, or it belongs neither to this user nor to root
//   invalid_argument  it is not a regular file, or is longer than 64 KiB
// and errors of the system.
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

}  // namespace cinnabar::tls
