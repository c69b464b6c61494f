// SPDX-License-Identifier: BSD-3-Clause
// The ring: records are read as they were written, also across the end and when the ring is full; a partial record is
// never read; malformed records are detected.
#include "ring.hpp"

#include "support/patterns.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace cinnabar::shm {
namespace {

constexpr std::size_t record_max = 8192;

class Ring : public testing::Test {
  protected:
    explicit Ring(std::size_t bytes = ring_bytes_min) : bytes_(bytes) {
        memory_ = static_cast<std::byte*>(::operator new (ring_header_bytes + bytes, std::align_val_t{4096}));
        std::memset(memory_, 0, ring_header_bytes + bytes);
        writer_.attach(memory_, bytes);
        reader_.attach(memory_, bytes, record_max);
    }
    ~Ring() override { ::operator delete (memory_, std::align_val_t{4096}); }

    [[nodiscard]] bool write(std::uint32_t size, std::uint64_t id) {
        std::byte* to = writer_.reserve(size);
        if (!to) return false;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % 16, 0u);
        support::fill_pattern({to, size}, id);
        writer_.publish({RecordKind::unexpected, 0, 0, size, id});
        return true;
    }
    void expect_record(std::uint32_t size, std::uint64_t id) {
        Record record;
        ASSERT_EQ(reader_.next(record), RingReader::Look::record);
        EXPECT_EQ(record.bytes, size);
        EXPECT_EQ(record.id, id);
        EXPECT_EQ(record.kind, RecordKind::unexpected);
        EXPECT_TRUE(support::holds_pattern({reader_.payload(), size}, id));
        reader_.consume();
    }
    // Overwrites the first word of the next record.
    void set_word(std::uint64_t word) { std::memcpy(memory_ + ring_header_bytes, &word, sizeof word); }
    [[nodiscard]] RingReader::Look look() {
        Record record;
        return reader_.next(record);
    }

    std::size_t bytes_;
    std::byte* memory_;
    RingWriter writer_;
    RingReader reader_;
};

TEST_F(Ring, is_empty_at_first_and_after_the_last) {
    EXPECT_TRUE(reader_.empty());
    EXPECT_EQ(look(), RingReader::Look::none);
    ASSERT_TRUE(write(5, 1));
    EXPECT_FALSE(reader_.empty());
    expect_record(5, 1);
    EXPECT_EQ(look(), RingReader::Look::none);
}

TEST_F(Ring, fills_up_and_takes_more_when_there_is_room) {
    std::uint64_t written = 0;
    while (write(1000, written)) ++written;
    writer_.wait_for_room();
    EXPECT_GE(written * record_size(1000), ring_bytes_min - 2 * record_size(1000));
    for (std::uint64_t id = 0; id < written; ++id) expect_record(1000, id);
    EXPECT_FALSE(writer_.room_came());
    ASSERT_TRUE(reader_.room_due());
    reader_.give_back();
    EXPECT_TRUE(writer_.room_came());
    ASSERT_TRUE(write(1000, 7));
    expect_record(1000, 7);
}

// A session that waits for room for data goes on sending messages, and each may read the reader's position.
TEST_F(Ring, room_that_a_smaller_record_has_seen_still_counts) {
    std::uint64_t written = 0;
    while (writer_.used() <= ring_bytes_min / 2) ASSERT_TRUE(write(1000, written++));
    writer_.wait_for_room();
    for (std::uint64_t id = 0; id < written; ++id) expect_record(1000, id);
    reader_.give_back();
    EXPECT_EQ(writer_.used(), 0u) << "reads the position";
    ASSERT_TRUE(write(16, written));
    EXPECT_TRUE(writer_.room_came());
}

TEST_F(Ring, a_writer_gets_room_from_a_reader_that_has_read_everything) {
    // For any sizes of records that fill the ring, and any steps in which they are read.
    test::for_each_seed([this](std::uint64_t seed) {
        Random random(seed);
        std::deque<std::pair<std::uint32_t, std::uint64_t>> unread;
        const auto size = static_cast<std::uint32_t>(random.below(record_max + 1));
        for (std::uint64_t id = 0; write(size, id); ++id) unread.emplace_back(size, id);
        for (; !unread.empty(); unread.pop_front()) expect_record(unread.front().first, unread.front().second);
        ASSERT_TRUE(reader_.room_due());
        reader_.give_back();
        ASSERT_TRUE(write(record_max, 1));
        expect_record(record_max, 1);
    });
}

TEST_F(Ring, random_records_round_trip) {
    test::for_each_seed([this](std::uint64_t seed) {
        Random random(seed);
        std::deque<std::pair<std::uint32_t, std::uint64_t>> unread;
        for (std::uint64_t id = 1; id <= 500; ++id) {
            const auto size =
                static_cast<std::uint32_t>(random.chance(4) ? random.below(record_max + 1) : random.below(200));
            if (write(size, id)) unread.emplace_back(size, id);
            while (!unread.empty() && random.chance(2)) {
                expect_record(unread.front().first, unread.front().second);
                unread.pop_front();
            }
            if (reader_.room_due()) reader_.give_back();
        }
        for (; !unread.empty(); unread.pop_front()) expect_record(unread.front().first, unread.front().second);
        EXPECT_EQ(look(), RingReader::Look::none);
        reader_.give_back();
    });
}

TEST_F(Ring, a_record_that_is_not_published_is_not_read) {
    ASSERT_TRUE(write(100, 1));
    std::byte* half = writer_.reserve(4000);
    ASSERT_NE(half, nullptr);
    std::memset(half, 0xff, 4000);
    expect_record(100, 1);
    EXPECT_EQ(look(), RingReader::Look::none);
}

TEST_F(Ring, a_length_over_the_limit_is_malformed) {
    set_word(std::uint64_t{1} << 56 | std::uint64_t{2} << 32 | (record_max + 1));
    EXPECT_EQ(look(), RingReader::Look::broken);
    set_word(std::uint64_t{1} << 56 | std::uint64_t{2} << 32 | 0xffff'ffff);
    EXPECT_EQ(look(), RingReader::Look::broken);
}

TEST_F(Ring, a_record_beyond_the_ring_is_malformed) {
    // Up to 32 bytes before the end of the ring.
    std::uint64_t at = 0;
    for (; at + record_size(4080) + 32 <= ring_bytes_min; at += record_size(4080)) ASSERT_TRUE(write(4080, 0));
    for (std::uint64_t i = 0; i < at; i += record_size(4080)) expect_record(4080, 0);
    const std::uint64_t word = std::uint64_t{1} << 56 | std::uint64_t{2} << 32 | 8000;
    std::memcpy(memory_ + ring_header_bytes + at, &word, sizeof word);
    EXPECT_EQ(look(), at + record_size(8000) > ring_bytes_min ? RingReader::Look::broken : RingReader::Look::record);
}

TEST_F(Ring, a_word_without_its_mark_is_malformed) {
    set_word(std::uint64_t{2} << 32 | 8);
    EXPECT_EQ(look(), RingReader::Look::broken);
    set_word(std::uint64_t{3} << 56 | std::uint64_t{2} << 32 | 8);
    EXPECT_EQ(look(), RingReader::Look::broken);
}

TEST_F(Ring, a_skip_at_the_beginning_is_malformed) {
    set_word(std::uint64_t{1} << 56 | std::uint64_t{1} << 32);
    EXPECT_EQ(look(), RingReader::Look::broken);
}

TEST_F(Ring, an_invalid_position_of_the_reader_is_detected) {
    ASSERT_TRUE(write(100, 1));
    writer_.header().read.store(1u << 30, std::memory_order_relaxed);
    (void)writer_.used();
    EXPECT_TRUE(writer_.broken());
}

TEST(RingBytes, hold_three_of_the_largest_records) {
    for (const std::size_t bytes : {std::size_t{512}, std::size_t{16'384}, std::size_t{21'800}, std::size_t{1} << 22}) {
        EXPECT_GE(ring_bytes_for(bytes), 3 * record_size(bytes));
        EXPECT_GE(ring_bytes_for(bytes), ring_bytes_min);
        EXPECT_LE(ring_bytes_for(bytes), ring_bytes_max);
    }
}

}  // namespace
}  // namespace cinnabar::shm
