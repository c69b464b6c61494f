// SPDX-License-Identifier: BSD-3-Clause
// A greeting is decoded completely or not at all.
#include "greeting.hpp"

#include "flags.hpp"
#include "ring.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace cinnabar::shm {
namespace {

class GreetingBytes : public testing::Test {
  protected:
    GreetingBytes() {
        hello_.incarnation = 77;
        hello_.message_bytes_max = 4096;
        terms_.record_bytes_max = 8192;
        terms_.ring_bytes = ring_bytes_min;
        terms_.lease_slots = 16;
        terms_.flag = 7;
        terms_.probe_address = 0x1234;
        terms_.probe_value = 0x5678;
        terms_.name = TransportName("worker-3");
    }
    [[nodiscard]] Errc decoded() {
        bytes_ = encode_greeting(hello_, terms_, room_);
        return decode_greeting(ConstBytes(room_).first(bytes_), hello_out_, out_);
    }
    na::Hello hello_;
    Terms terms_;
    std::array<std::byte, greeting_bytes_max> room_{};
    std::size_t bytes_ = 0;
    na::Hello hello_out_;
    Terms out_;
};

TEST_F(GreetingBytes, round_trip) {
    ASSERT_EQ(decoded(), Errc::ok);
    EXPECT_EQ(hello_out_.incarnation, 77u);
    EXPECT_EQ(out_.ring_bytes, terms_.ring_bytes);
    EXPECT_EQ(out_.record_bytes_max, terms_.record_bytes_max);
    EXPECT_EQ(out_.lease_slots, 16u);
    EXPECT_EQ(out_.flag, 7u);
    EXPECT_EQ(out_.probe_address, 0x1234u);
    EXPECT_EQ(out_.probe_value, 0x5678u);
    EXPECT_EQ(out_.name.view(), "worker-3");
}

TEST_F(GreetingBytes, truncated_are_refused_at_every_length) {
    ASSERT_EQ(decoded(), Errc::ok);
    for (std::size_t i = 0; i < bytes_; ++i) {
        EXPECT_EQ(decode_greeting(ConstBytes(room_).first(i), hello_out_, out_), Errc::protocol) << i;
    }
}

TEST_F(GreetingBytes, with_unknown_fields_are_unsupported) {
    ASSERT_EQ(decoded(), Errc::ok);
    for (const std::size_t at : {4u, 6u, 8u, 38u, 39u}) {
        auto bytes = room_;
        bytes[at] ^= std::byte{1};
        EXPECT_EQ(decode_greeting(ConstBytes(bytes).first(bytes_), hello_out_, out_), Errc::unsupported) << at;
    }
}

TEST_F(GreetingBytes, with_invalid_ring_sizes_are_refused) {
    for (const std::uint32_t bytes : {0u, 4096u, 65'537u, 0xffff'ffffu, 0x8000'0000u}) {
        terms_.ring_bytes = bytes;
        EXPECT_EQ(decoded(), Errc::protocol) << bytes;
    }
    terms_.ring_bytes = ring_bytes_min;
    for (const std::uint32_t bytes : {0u, 4095u, 30'000u, 65'536u, 0xffff'ffffu}) {
        terms_.record_bytes_max = bytes;
        EXPECT_EQ(decoded(), Errc::protocol) << bytes;
    }
}

TEST_F(GreetingBytes, with_a_flag_that_is_not_in_the_memory_are_refused) {
    terms_.flag = Flags::count_max;
    EXPECT_EQ(decoded(), Errc::ok);
    for (const std::uint32_t flag : {Flags::count_max + 1, 0xffff'ffffu}) {
        terms_.flag = flag;
        EXPECT_EQ(decoded(), Errc::protocol) << flag;
    }
}

TEST_F(GreetingBytes, with_a_path_as_a_name_are_refused) {
    for (const char* name : {"../x", "a/b", ".x", "a b", "a\n"}) {
        terms_.name = TransportName(name);
        EXPECT_EQ(decoded(), Errc::protocol) << name;
    }
    EXPECT_FALSE(good_name(""));
    EXPECT_FALSE(good_name(std::string(64, 'a')));
    EXPECT_TRUE(good_name(std::string(63, 'a')));
    EXPECT_TRUE(good_name("4711-2"));
}

}  // namespace
}  // namespace cinnabar::shm
