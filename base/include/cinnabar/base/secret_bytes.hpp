// SPDX-License-Identifier: BSD-3-Clause
// Memory for secrets. Any thread, but one at a time per object.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <string_view>

namespace cinnabar {

// Bytes of a secret, on pages of their own: excluded from core dumps, locked in memory if the process's limits allow it
// (if not, one log line says so), and wiped by the destructor.
class CINNABAR_API SecretBytes {
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

}  // namespace cinnabar
