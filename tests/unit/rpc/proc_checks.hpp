// SPDX-License-Identifier: BSD-3-Clause
// Checks for every type: the size is right, a round trip gives the same value, and truncated bytes are refused, unless
// they end where a field of the outermost record begins.
#pragma once

#include <cinnabar/rpc/proc.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <set>
#include <vector>

// The functions are not inlined: hundreds of them in one test body take minutes to build under a sanitizer.
namespace cinnabar::rpc::test {

// A heap copy of exactly these bytes, so that a sanitizer notices a read past their end. Aligned like a payload.
class Payload {
  public:
    explicit Payload(ConstBytes bytes) : bytes_(new std::byte[bytes.size()]), size_(bytes.size()) {
        if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
    }
    [[nodiscard]] ConstBytes bytes() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_;
};

inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

template <class T>
[[gnu::noinline]] std::vector<std::byte> encoded(const T& value) {
    std::vector<std::byte> bytes(proc_size(value));
    std::size_t used = 0;
    EXPECT_EQ(encode(bytes, value, used), Errc::ok);
    EXPECT_EQ(used, bytes.size());
    return bytes;
}

template <class T>
[[gnu::noinline]] Errc decode_error(ConstBytes bytes) {
    const Payload payload(bytes);
    T value{};
    return decode(payload.bytes(), value);
}

// The lengths at which a payload is complete: where the fields of an outermost record begin, and the end.
template <class T>
[[gnu::noinline]] std::set<std::size_t> complete_lengths(const T& value) {
    std::set<std::size_t> lengths;
    Sizer sizer;
    if constexpr (detail::Record<T>) {
        detail::visit_fields(value,
                             [&](const auto&... fields) { ((lengths.insert(sizer.position()), sizer(fields)), ...); });
    } else {
        sizer(value);
    }
    lengths.insert(sizer.position());
    return lengths;
}

template <class T>
[[gnu::noinline]] void check_truncations(const T& value) {
    const std::vector<std::byte> bytes = encoded(value);
    const std::set<std::size_t> complete = complete_lengths(value);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        const Errc expected = complete.contains(length) ? Errc::ok : Errc::protocol;
        EXPECT_EQ(decode_error<T>(ConstBytes(bytes).first(length)), expected) << "of its " << length << " first bytes";
    }
}

// Not inlined: otherwise gcc sees the size and, at -O3, warns of writes that never happen.
[[gnu::noinline]] inline std::unique_ptr<std::byte[]> room_of(std::size_t bytes) {
    return std::make_unique<std::byte[]>(bytes);
}

// A buffer that is too small by any number of bytes is refused, and nothing is written past its end.
template <class T>
[[gnu::noinline]] void check_small_buffers(const T& value) {
    const std::size_t size = proc_size(value);
    for (std::size_t room = 0; room < size; ++room) {
        const auto buffer = room_of(room);
        std::size_t used = 77;
        EXPECT_EQ(encode(Bytes(buffer.get(), room), value, used), Errc::too_large) << room;
        EXPECT_EQ(used, 0u);
    }
}

// `same(a, b)` compares. The payload is alive during the call, so that views may be compared, too.
template <class T, class Same>
[[gnu::noinline]] void check_round_trip(const T& value, Same same) {
    static_assert(Procable<T>);
    const std::vector<std::byte> bytes = encoded(value);
    const Payload payload(bytes);
    T back{};
    ASSERT_EQ(decode(payload.bytes(), back), Errc::ok);
    EXPECT_TRUE(same(value, back));
    EXPECT_EQ(encoded(back), bytes);
    // Decoding replaces whatever the object held before.
    ASSERT_EQ(decode(payload.bytes(), back), Errc::ok);
    EXPECT_TRUE(same(value, back));
    check_truncations(value);
    check_small_buffers(value);
}
template <class T>
void check_round_trip(const T& value) {
    check_round_trip(value, [](const T& a, const T& b) { return a == b; });
}

}  // namespace cinnabar::rpc::test
