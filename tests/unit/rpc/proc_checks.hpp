// SPDX-License-Identifier: BSD-3-Clause
// What the proc tests ask of every type: the size is right, the round trip gives the same value, and no truncation of
// its bytes is taken for a value, unless it ends where a field of the outermost record begins.
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

// A copy on the heap of exactly so many bytes, so that a sanitizer sees a read behind them. Aligned like a payload.
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

// Where the fields of an outermost record begin, and the end: the lengths at which a payload is complete.
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

// Not inlined: gcc would see the size and, at -O3, warn of writes that are never reached.
[[gnu::noinline]] inline std::unique_ptr<std::byte[]> room_of(std::size_t bytes) {
    return std::make_unique<std::byte[]>(bytes);
}

// A buffer that is too small by any number of bytes is refused and nothing is written behind it.
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

// `same(a, b)` compares; the payload is alive while it is called, so views may be compared too.
template <class T, class Same>
[[gnu::noinline]] void check_round_trip(const T& value, Same same) {
    static_assert(Procable<T>);
    const std::vector<std::byte> bytes = encoded(value);
    const Payload payload(bytes);
    T back{};
    ASSERT_EQ(decode(payload.bytes(), back), Errc::ok);
    EXPECT_TRUE(same(value, back));
    EXPECT_EQ(encoded(back), bytes);
    // What was in the object before does not show.
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
