// SPDX-License-Identifier: BSD-3-Clause
// The bounded reader and writer: what was written is read back, every overrun is reported, and no byte outside the
// buffer is touched.
#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

TEST(Bytes, TextAndBytesAreTheSameMemory) {
    const std::string text = "cinnabar";
    const ConstBytes bytes = as_bytes(text);
    EXPECT_EQ(bytes.size(), text.size());
    EXPECT_EQ(static_cast<const void*>(bytes.data()), text.data());
    EXPECT_EQ(as_text(bytes), text);
    EXPECT_TRUE(as_bytes("").empty());
}

TEST(ByteWriter, NumbersAreLittleEndianWithoutPadding) {
    std::array<std::byte, 15> memory{};
    ByteWriter writer(memory);
    writer.u8(0x01);
    writer.u16(0x0302);
    writer.u32(0x07060504);
    writer.u64(0x0f0e0d0c0b0a0908);
    EXPECT_TRUE(writer.ok());
    EXPECT_EQ(writer.size(), memory.size());
    EXPECT_EQ(writer.left(), 0u);
    for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(std::to_integer<std::size_t>(memory[i]), i + 1);
}

TEST(ByteReader, ReadsBackEveryKindOfNumber) {
    std::array<std::byte, 64> memory{};
    ByteWriter writer(memory);
    writer.put(std::int8_t{-5});
    writer.put(std::numeric_limits<std::int64_t>::min());
    writer.put(std::numeric_limits<double>::infinity());
    writer.put(-0.5f);
    writer.put(true);
    writer.bytes(as_bytes("tail"));
    ASSERT_TRUE(writer.ok());

    ByteReader reader(writer.written());
    EXPECT_EQ(reader.get<std::int8_t>(), -5);
    EXPECT_EQ(reader.get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(reader.get<double>(), std::numeric_limits<double>::infinity());
    EXPECT_EQ(reader.get<float>(), -0.5f);
    EXPECT_TRUE(reader.get<bool>());
    EXPECT_EQ(as_text(reader.view(4)), "tail");
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.left(), 0u);
}

TEST(ByteReader, OverrunGivesZeroAndStays) {
    const std::array<std::byte, 7> memory{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
    ByteReader reader(memory);
    EXPECT_EQ(reader.u32(), 0x04030201u);
    EXPECT_EQ(reader.u32(), 0u);
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.left(), 0u);
    EXPECT_EQ(reader.u8(), 0u) << "a byte was left, but the first overrun ends it";
    EXPECT_TRUE(reader.view(0).empty());
    EXPECT_TRUE(reader.view(1).empty());
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, LengthsThatWouldWrapAreOverruns) {
    const std::array<std::byte, 8> memory{};
    for (const std::size_t count : {memory.size() + 1, std::size_t{1} << 63, std::numeric_limits<std::size_t>::max()}) {
        ByteReader viewing(memory);
        EXPECT_TRUE(viewing.view(count).empty()) << count;
        EXPECT_FALSE(viewing.ok()) << count;
        ByteReader skipping(memory);
        skipping.skip(count);
        EXPECT_FALSE(skipping.ok()) << count;
    }
}

TEST(ByteReader, CopyLeavesTheTargetAloneAfterAnOverrun) {
    const std::array<std::byte, 4> memory{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 6> target;
    target.fill(std::byte{0xee});
    ByteReader reader(memory);
    reader.copy_to(target.data(), 5);
    EXPECT_FALSE(reader.ok());
    for (const std::byte byte : target) EXPECT_EQ(byte, std::byte{0xee});

    ByteReader exact(memory);
    exact.copy_to(target.data(), 4);
    EXPECT_TRUE(exact.ok());
    EXPECT_EQ(target[3], std::byte{4});
    EXPECT_EQ(target[4], std::byte{0xee});
}

TEST(ByteReader, NothingMayBeReadFromNothing) {
    ByteReader reader(ConstBytes{});
    EXPECT_TRUE(reader.view(0).empty());
    reader.copy_to(nullptr, 0);
    reader.skip(0);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.u8(), 0u);
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, AnyByteButZeroIsTrue) {
    const std::array<std::byte, 3> memory{std::byte{0}, std::byte{2}, std::byte{0xff}};
    ByteReader reader(memory);
    EXPECT_FALSE(reader.get<bool>());
    const bool two = reader.get<bool>();
    EXPECT_EQ(static_cast<int>(two), 1);
    EXPECT_EQ(static_cast<int>(reader.get<bool>()), 1);
    EXPECT_FALSE(reader.get<bool>()) << "nothing is left";
    EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, FailEndsIt) {
    const std::array<std::byte, 4> memory{std::byte{9}};
    ByteReader reader(memory);
    reader.fail();
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.left(), 0u);
    EXPECT_EQ(reader.u8(), 0u);
}

TEST(ByteWriter, OverrunWritesNothingAndStays) {
    std::array<std::byte, 6> memory;
    memory.fill(std::byte{0xee});
    ByteWriter writer(Bytes(memory).first(5));
    writer.u32(0);
    writer.u16(0x1111);
    EXPECT_FALSE(writer.ok());
    EXPECT_EQ(writer.size(), 4u);
    EXPECT_EQ(writer.left(), 0u);
    writer.u8(0x22);
    EXPECT_EQ(writer.size(), 4u) << "a byte would fit, but the first overrun ends it";
    EXPECT_TRUE(writer.reserve(1).empty());
    EXPECT_EQ(writer.written().size(), 4u);
    EXPECT_EQ(memory[4], std::byte{0xee});
    EXPECT_EQ(memory[5], std::byte{0xee});
}

TEST(ByteWriter, ReservedRoomIsPartOfWhatWasWritten) {
    std::array<std::byte, 8> memory{};
    ByteWriter writer(memory);
    writer.u16(0xffff);
    const Bytes room = writer.reserve(4);
    ASSERT_EQ(room.size(), 4u);
    EXPECT_EQ(room.data(), memory.data() + 2);
    ByteWriter(room).u32(0x01020304);
    EXPECT_EQ(ByteReader(writer.written().subspan(2)).u32(), 0x01020304u);
    EXPECT_TRUE(writer.reserve(std::numeric_limits<std::size_t>::max()).empty());
    EXPECT_FALSE(writer.ok());
}

// A stream of random widths through a buffer of each size: the writer takes a prefix, the reader returns exactly that
// prefix, and both stop at the same step.
TEST(Bytes, RandomStreamsMatchAtEveryBufferSize) {
    for (std::size_t size = 0; size < 64; ++size) {
        SCOPED_TRACE(size);
        Random values(size);
        std::vector<std::byte> memory(size);
        ByteWriter writer(memory);
        std::vector<unsigned> widths;
        for (std::size_t total = 0; total <= size;) {
            widths.push_back(1u << values.below(4));
            total += widths.back();
        }
        std::size_t expected = 0;
        for (const unsigned& width : widths) {
            const std::uint64_t value = values.next();
            if (width == 1) writer.u8(static_cast<std::uint8_t>(value));
            if (width == 2) writer.u16(static_cast<std::uint16_t>(value));
            if (width == 4) writer.u32(static_cast<std::uint32_t>(value));
            if (width == 8) writer.u64(value);
            if (writer.ok()) expected += width;
            ASSERT_EQ(writer.ok(), &width != &widths.back()) << "only the last one does not fit";
        }
        ASSERT_EQ(writer.size(), expected);

        Random again(size);
        for (std::size_t i = 0; i < widths.size(); ++i) (void)again.below(4);
        ByteReader reader(writer.written());
        for (const unsigned& width : widths) {
            const bool last = &width == &widths.back();
            const std::uint64_t value = last ? 0 : again.next();
            const std::uint64_t mask = width == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (width * 8)) - 1;
            std::uint64_t got = 0;
            if (width == 1) got = reader.u8();
            if (width == 2) got = reader.u16();
            if (width == 4) got = reader.u32();
            if (width == 8) got = reader.u64();
            ASSERT_EQ(got, value & mask);
            ASSERT_EQ(reader.ok(), !last);
        }
    }
}

}  // namespace
}  // namespace cinnabar
