// SPDX-License-Identifier: BSD-3-Clause
// The text of a trace file, built in a buffer of fixed size: a string that grows piece by piece took four times as
// long.
#pragma once

#include <cinnabar/base/hex.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cinnabar::hl {

class TraceText {
  public:
    static constexpr std::size_t plain_max = 1'024;

    void clear() noexcept { used_ = 0; }
    [[nodiscard]] std::string_view written() const noexcept { return {text_.data(), used_}; }
    [[nodiscard]] std::size_t room() const noexcept { return text_.size() - used_; }

    // Requires, like the functions below: there is room.
    [[gnu::always_inline]] void add(std::string_view text) noexcept {
        std::memcpy(end(), text.data(), text.size());
        used_ += text.size();
    }
    // 16 digits.
    void add_hex(std::uint64_t number) noexcept {
        write_hex(end(), number);
        used_ += 16;
    }
    void add_number(std::uint64_t number) noexcept {
        used_ = static_cast<std::size_t>(std::to_chars(end(), text_.data() + text_.size(), number).ptr - text_.data());
    }
    // Peers choose names and addresses, so all characters that would need escaping are dropped, and so is everything
    // beyond plain_max.
    void add_plain(std::string_view text) noexcept {
        for (const char c : text.substr(0, plain_max)) {
            text_[used_] = c;
            used_ += is_plain(c) ? 1u : 0u;
        }
    }
    // As add_plain(), but drops characters before it truncates.
    [[nodiscard]] static std::string plain(std::string text) noexcept {
        std::erase_if(text, [](char c) { return !is_plain(c); });
        text.resize(std::min(text.size(), plain_max));
        return text;
    }
    // Appends a copy of the text from `begin` to `end`, with the character at `change` replaced.
    void repeat(std::size_t begin, std::size_t end, std::size_t change, char replacement) noexcept {
        const std::size_t to = used_;
        add(written().substr(begin, end - begin));
        text_[to + change - begin] = replacement;
    }

  private:
    [[nodiscard]] static bool is_plain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }
    [[nodiscard]] char* end() noexcept { return text_.data() + used_; }

    std::size_t used_ = 0;
    std::array<char, 64 << 10> text_;  // uninitialized until it is used
};

}  // namespace cinnabar::hl
