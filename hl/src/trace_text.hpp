// SPDX-License-Identifier: BSD-3-Clause
// The text of a trace file, built in a buffer of fixed size, because a string that grows piece by piece took four times
// as long.
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
    static constexpr std::size_t padded = 32;

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
    // Small numbers in the fewest instructions.
    void add_number(std::uint64_t number) noexcept {
        if (number >= 10'000) {
            used_ =
                static_cast<std::size_t>(std::to_chars(end(), text_.data() + text_.size(), number).ptr - text_.data());
            return;
        }
        const auto small = static_cast<std::uint32_t>(number);
        std::array<char, 4> digits{};
        write_two(digits.data(), small / 100);
        write_two(digits.data() + 2, small % 100);
        const std::size_t count = small < 10 ? 1 : small < 100 ? 2 : small < 1'000 ? 3 : 4;
        std::memcpy(end(), &digits[4 - count], count);
        used_ += count;
    }
    // A time since 1970. The digits of its second are kept, since most times are of the same second as the one before.
    void add_time(std::uint64_t us) noexcept {
        const std::uint64_t second = us / 1'000'000;
        if (second != second_) keep_second(second);
        std::memcpy(end(), second_text_.data(), second_text_.size());
        char* const to = end() + second_digits_;
        const auto rest = static_cast<std::uint32_t>(us - second * 1'000'000);
        write_two(to, rest / 10'000);
        write_two(to + 2, rest / 100 % 100);
        write_two(to + 4, rest % 100);
        used_ += second_digits_ + 6;
    }
    // Returns at most plain_max characters of the text, without the characters that would need escaping, since peers
    // choose names and addresses. cut() first cuts the text to plain_max characters.
    [[nodiscard]] static std::string plain(std::string text) noexcept {
        std::erase_if(text, [](char c) { return !is_plain(c); });
        text.resize(std::min(text.size(), plain_max));
        return text;
    }
    [[nodiscard]] static std::string cut(std::string_view text) {
        return plain(std::string(text.substr(0, plain_max)));
    }
    // As add(), of a text in an array whose size is fixed, which is copied at once.
    void add_padded(const char (&text)[padded], std::size_t size) noexcept {
        std::memcpy(end(), text, sizeof text);
        used_ += size;
    }
    // Appends a copy of the text from `begin` to `end`.
    void repeat(std::size_t begin, std::size_t end) noexcept { add({text_.data() + begin, end - begin}); }

  private:
    [[nodiscard]] static bool is_plain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }
    [[nodiscard]] char* end() noexcept { return text_.data() + used_; }
    static void write_two(char* to, std::uint32_t number) noexcept {
        static constexpr auto pairs = [] {
            std::array<char, 200> all{};
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = static_cast<char>('0' + (i % 2 == 0 ? i / 20 : i / 2 % 10));
            return all;
        }();
        std::memcpy(to, &pairs[number * 2], 2);
    }
    [[gnu::cold, gnu::noinline]] void keep_second(std::uint64_t second) noexcept {
        second_ = second;
        char* const begin = second_text_.data();
        second_digits_ =
            static_cast<std::size_t>(std::to_chars(begin, begin + second_text_.size(), second).ptr - begin);
    }

    std::size_t used_ = 0;
    std::uint64_t second_ = ~std::uint64_t{0};
    std::array<char, 16> second_text_{};
    std::size_t second_digits_ = 0;
    std::array<char, 64 << 10> text_;  // uninitialized until it is used
};

}  // namespace cinnabar::hl
