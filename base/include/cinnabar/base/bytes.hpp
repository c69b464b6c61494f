// SPDX-License-Identifier: BSD-3-Clause
// Bounds-checked little-endian ByteReader and ByteWriter over memory of the caller. Errors are sticky: after the first
// overrun `ok()` stays false, reads return zero and writes do nothing, so one check at the end is enough.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace cinnabar {

static_assert(std::endian::native == std::endian::little, "the raw-copy codecs need a little-endian host");

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

[[nodiscard]] inline ConstBytes as_bytes(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view as_text(ConstBytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteReader {
  public:
    explicit ByteReader(ConstBytes bytes) noexcept : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
    void fail() noexcept {
        ok_ = false;
        at_ = end_;
    }

    template <typename T>
    requires std::integral<T> || std::floating_point<T>
    [[nodiscard]] T get() noexcept {
        // The byte comes from the peer; a bool with a value other than 0 or 1 would be undefined behaviour.
        if constexpr (std::same_as<T, bool>) return get<std::uint8_t>() != 0;
        T value{};
        if (const std::byte* from = advance(sizeof(T))) std::memcpy(&value, from, sizeof(T));
        return value;
    }
    [[nodiscard]] std::uint8_t u8() noexcept { return get<std::uint8_t>(); }
    [[nodiscard]] std::uint16_t u16() noexcept { return get<std::uint16_t>(); }
    [[nodiscard]] std::uint32_t u32() noexcept { return get<std::uint32_t>(); }
    [[nodiscard]] std::uint64_t u64() noexcept { return get<std::uint64_t>(); }

    // A view of the next `count` bytes; empty after an overrun. Lives as long as the bytes given to the reader.
    [[nodiscard]] ConstBytes view(std::size_t count) noexcept {
        const std::byte* from = advance(count);
        return from ? ConstBytes(from, count) : ConstBytes();
    }
    void copy_to(void* to, std::size_t count) noexcept {
        if (const std::byte* from = advance(count); from && count) std::memcpy(to, from, count);
    }
    void skip(std::size_t count) noexcept { (void)advance(count); }

  private:
    const std::byte* advance(std::size_t count) noexcept {
        if (count > left()) {
            fail();
            return nullptr;
        }
        const std::byte* from = at_;
        at_ += count;
        return ok_ ? from : nullptr;
    }
    const std::byte* at_;
    const std::byte* end_;
    bool ok_ = true;
};

class ByteWriter {
  public:
    explicit ByteWriter(Bytes bytes) noexcept
        : begin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
    [[nodiscard]] ConstBytes written() const noexcept { return {begin_, size()}; }
    void fail() noexcept {
        ok_ = false;
        end_ = at_;
    }

    template <typename T>
    requires std::integral<T> || std::floating_point<T>
    void put(T value) noexcept {
        if (sizeof(T) > left()) return fail();
        std::memcpy(at_, &value, sizeof(T));
        at_ += sizeof(T);
    }
    void u8(std::uint8_t v) noexcept { put(v); }
    void u16(std::uint16_t v) noexcept { put(v); }
    void u32(std::uint32_t v) noexcept { put(v); }
    void u64(std::uint64_t v) noexcept { put(v); }
    void copy_from(const void* from, std::size_t count) noexcept {
        if (std::byte* to = advance(count); to && count) std::memcpy(to, from, count);
    }
    void bytes(ConstBytes from) noexcept { copy_from(from.data(), from.size()); }

    // Reserves `count` bytes for the caller to fill; empty if they do not fit.
    [[nodiscard]] Bytes reserve(std::size_t count) noexcept {
        std::byte* to = advance(count);
        return to ? Bytes(to, count) : Bytes();
    }

  private:
    std::byte* advance(std::size_t count) noexcept {
        if (count > left()) {
            fail();
            return nullptr;
        }
        std::byte* to = at_;
        at_ += count;
        return ok_ ? to : nullptr;
    }
    std::byte* begin_;
    std::byte* at_;
    std::byte* end_;
    bool ok_ = true;
};

}  // namespace cinnabar
