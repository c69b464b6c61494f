// SPDX-License-Identifier: BSD-3-Clause
// Memory for secrets, and files that hold them. Any thread; one at a time uses one object.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cinnabar::tcp {

// Bytes on pages of their own, which are in no core dump, stay out of swap where the limits allow that, and are wiped.
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
    // Requires: not more than there are.
    void shorten(std::size_t bytes) noexcept { size_ = bytes; }

  private:
    std::byte* at_ = nullptr;
    std::size_t size_ = 0;
    std::size_t mapped_ = 0;
};

// The whole of a file that only this user, or root, can have written, and that nobody else can read.
//   permission        others may read or write it, or it is neither ours nor root's
//   invalid_argument  not a regular file, or longer than 64 KiB
// and what the system says.
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

}  // namespace cinnabar::tcp
