// SPDX-License-Identifier: BSD-3-Clause
// Descriptors: they are decoded to what was encoded, match docs/wire-format-bulk.md byte by byte, and hostile ones are
// refused.
#include "fake_transport.hpp"
#include "mover_fixture.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/remote_region.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace cinnabar::bulk {
namespace {

using Encoded = std::vector<std::byte>;

// Builds descriptors by hand, field by field.
class Hand {
  public:
    Hand& u8(unsigned v) { return put(static_cast<std::uint8_t>(v)); }
    Hand& u32(std::uint32_t v) { return put(v); }
    Hand& u64(std::uint64_t v) { return put(v); }
    Hand& text(std::string_view text) {
        for (char c : text) bytes.push_back(static_cast<std::byte>(c));
        return *this;
    }
    Hand& head(unsigned flags, unsigned access, unsigned keys, std::uint64_t size) {
        return u8(1).u8(flags).u8(access).u8(keys).u64(size);
    }
    Hand& key(std::string_view scheme, std::string_view key) {
        return u8(static_cast<unsigned>(scheme.size()))
            .text(scheme)
            .u32(static_cast<std::uint32_t>(key.size()))
            .text(key);
    }
    Encoded bytes;

  private:
    template <typename T>
    Hand& put(T v) {
        const auto at = bytes.size();
        bytes.resize(at + sizeof v);
        std::memcpy(bytes.data() + at, &v, sizeof v);
        return *this;
    }
};

Errc decode(const Encoded& bytes, RemoteRegion& region) {
    ByteReader reader(bytes);
    return RemoteRegion::decode(reader, region);
}
Errc decode(const Hand& hand) {
    RemoteRegion region;
    const Errc result = decode(hand.bytes, region);
    if (result != Errc::ok) {
        EXPECT_TRUE(region.empty());
    }
    return result;
}

struct DescriptorTest : ::testing::Test {
    std::shared_ptr<FakeTransport> resolving = std::make_shared<FakeTransport>("tcp");
    std::shared_ptr<FakeTransport> direct = std::make_shared<FakeTransport>("verbs");
    DescriptorTest() { direct->caps_.offset_addressing = false; }
};

constexpr unsigned bound = 1;
constexpr unsigned segments = 2;
constexpr unsigned eager = 4;

TEST_F(DescriptorTest, DescriptorsRoundTrip) {
    Scattered memory({10, 20, 30}, na::Access::read_write);
    const na::Addr owner = na::Addr::make({"tcp://10.0.0.1:7", "verbs://[::1]:8"}, 3, 77);
    const Lent lent(memory.region.slice(5, 40), {resolving, direct}, na::Access::read_write, owner);
    const RemoteRegion& remote = lent.remote;
    EXPECT_EQ(remote.bytes(), 40u);
    EXPECT_EQ(remote.access(), na::Access::read_write);
    EXPECT_EQ(remote.owner(), owner);
    EXPECT_TRUE(remote.eager().empty());
    EXPECT_EQ(remote.key_for("tcp").size(), na::LeaseKey::wire_bytes);
    EXPECT_EQ(remote.key_for("verbs").size(), na::LeaseKey::wire_bytes);
    EXPECT_TRUE(remote.key_for("shm").empty());
    ASSERT_EQ(remote.segment_count(), 3u) << "verbs needs them";
    EXPECT_EQ(remote.segment_bytes(0), 5u);
    EXPECT_EQ(remote.segment_bytes(1), 20u);
    EXPECT_EQ(remote.segment_bytes(2), 15u);
}

TEST_F(DescriptorTest, SegmentsAreDescribedOnlyIfNeeded) {
    Scattered memory({10, 20, 30}, na::Access::read_write);
    EXPECT_EQ(Lent(memory.region, {resolving}).remote.segment_count(), 0u);
    EXPECT_EQ(Lent(memory.region.slice(10, 20), {direct}).remote.segment_count(), 0u) << "it lies within one";
    EXPECT_EQ(Lent(memory.region.slice(10, 21), {direct}).remote.segment_count(), 2u);
}

TEST_F(DescriptorTest, SmallMemoryIsPartOfTheDescriptor) {
    Scattered memory({10, 20}, na::Access::read);
    memory.fill(3);
    const std::vector<std::byte> bytes = memory.bytes();
    const Lent both(memory.region, {resolving}, na::Access::read, {}, bytes);
    EXPECT_EQ(Encoded(both.remote.eager().begin(), both.remote.eager().end()), bytes);
    EXPECT_FALSE(both.remote.key_for("tcp").empty());
    const Lent alone(memory.region, {}, na::Access::read, {}, bytes);
    EXPECT_EQ(alone.remote.bytes(), 30u);
    EXPECT_EQ(alone.remote.access(), na::Access::read);
}

// Forwards a descriptor and decodes the forwarded bytes.
Errc hand_on(const Description& description, RemoteRegion& out, Encoded& kept) {
    Encoded bytes(described_bytes(description));
    ByteWriter writer(bytes);
    describe(description, writer);
    RemoteRegion first;
    EXPECT_EQ(decode(bytes, first), Errc::ok);
    EXPECT_TRUE(first.owner().empty()) << "what has a home is not bound";
    kept.assign(std::max<std::size_t>(forwarded_bytes(first), 1), std::byte{0});
    ByteWriter onward(kept);
    if (const Errc refused = forward(first, onward); refused != Errc::ok) return refused;
    EXPECT_EQ(onward.size(), kept.size());
    return decode(kept, out);
}

TEST_F(DescriptorTest, WhatIsHandedOnIsBoundToItsHome) {
    Scattered memory({10, 20}, na::Access::read);
    Lend lend;
    ASSERT_EQ(lend.grant(memory.region, na::Access::read, direct), Errc::ok);
    na::Lease* lease = &lend.lease();
    const na::Addr home = na::Addr::make({"tcp://10.0.0.1:5"}, 2, 0);
    Encoded address(home.encoded_bytes());
    ByteWriter writer(address);
    home.encode(writer);
    RemoteRegion third;
    Encoded kept;
    ASSERT_EQ(hand_on({{&lease, 1}, {}, {}, address}, third, kept), Errc::ok);
    EXPECT_EQ(third.owner(), home);
    EXPECT_EQ(third.bytes(), 30u);
    EXPECT_EQ(third.segment_count(), 2u);
    EXPECT_FALSE(third.key_for(direct->scheme()).empty());
    Encoded again(forwarded_bytes(third));
    ByteWriter onward(again);
    ASSERT_EQ(forward(third, onward), Errc::ok);
    EXPECT_EQ(again, kept) << "what is bound stays as it is";

    EXPECT_EQ(hand_on({{&lease, 1}, {}, {}, {}}, third, kept), Errc::unreachable) << "nobody knows where it is";
    EXPECT_EQ(hand_on({{&lease, 1}, {}, {}, std::span(address).first(4)}, third, kept), Errc::protocol);
    const Encoded along(30, std::byte{7});
    ASSERT_EQ(hand_on({{}, {}, along, {}}, third, kept), Errc::ok);
    EXPECT_TRUE(std::equal(along.begin(), along.end(), third.eager().begin(), third.eager().end()));
    EXPECT_TRUE(third.owner().empty());
    EXPECT_EQ(lend.revoke(), Errc::ok);
}

TEST_F(DescriptorTest, NothingIsADescriptorToo) {
    const Description nothing{};
    Encoded bytes(described_bytes(nothing));
    ByteWriter writer(bytes);
    describe(nothing, writer);
    EXPECT_EQ(bytes, Hand().head(0, 1, 0, 0).bytes);
    RemoteRegion region;
    EXPECT_EQ(decode(bytes, region), Errc::ok);
    EXPECT_TRUE(region.empty());
}

TEST_F(DescriptorTest, AWriterWithoutRoomFails) {
    Scattered memory(100, na::Access::read);
    Lend lend;
    ASSERT_EQ(lend.grant(memory.region, na::Access::read, resolving), Errc::ok);
    na::Lease* lease = &lend.lease();
    const Description description{{&lease, 1}, {}, {}};
    Encoded bytes(described_bytes(description) - 1);
    ByteWriter writer(bytes);
    describe(description, writer);
    EXPECT_FALSE(writer.ok());
    EXPECT_EQ(lend.revoke(), Errc::ok);
}

TEST_F(DescriptorTest, TooManySegmentsFail) {
    direct->limits_.segments_max = 1 << 20;
    std::vector<std::byte> memory(descriptor_segments_max + 1);
    std::vector<na::Segment> parts;
    for (std::byte& byte : memory) parts.push_back({&byte, 1});
    Lend lend;
    ASSERT_EQ(lend.grant(Region::expose(parts, na::Access::read).value(), na::Access::read, direct), Errc::ok);
    na::Lease* lease = &lend.lease();
    const Description description{{&lease, 1}, {}, {}};
    Encoded bytes(described_bytes(description));
    ByteWriter writer(bytes);
    describe(description, writer);
    EXPECT_FALSE(writer.ok());
    EXPECT_EQ(lend.revoke(), Errc::ok);
}

TEST_F(DescriptorTest, TakesExactlyItselfFromTheReader) {
    const Hand hand = Hand().head(0, 2, 1, 9).key("tcp", "k").text("rest");
    ByteReader reader(hand.bytes);
    RemoteRegion region;
    ASSERT_EQ(RemoteRegion::decode(reader, region), Errc::ok);
    EXPECT_EQ(reader.left(), 4u);
    EXPECT_EQ(region.access(), na::Access::write);
    EXPECT_EQ(as_text(region.key_for("tcp")), "k");
}

TEST_F(DescriptorTest, OwnedRegionsStandAlone) {
    Hand hand =
        Hand().head(segments | eager, 3, 2, 5).key("a", "one").key("b", "two").u32(2).u64(2).u64(3).text("hello");
    RemoteRegion copy;
    {
        RemoteRegion region;
        ASSERT_EQ(decode(hand.bytes, region), Errc::ok);
        ASSERT_EQ(region.own(), Errc::ok);
        std::fill(hand.bytes.begin(), hand.bytes.end(), std::byte{0xee});
        copy = region;
        EXPECT_EQ(region.own(), Errc::ok) << "twice is once";
    }
    EXPECT_EQ(as_text(copy.key_for("a")), "one");
    EXPECT_EQ(as_text(copy.key_for("b")), "two");
    EXPECT_EQ(as_text(copy.eager()), "hello");
    EXPECT_EQ(copy.segment_bytes(1), 3u);
    EXPECT_EQ(RemoteRegion().own(), Errc::ok);
}

TEST_F(DescriptorTest, MalformedHeads) {
    EXPECT_EQ(decode(Hand()), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(0, 1, 0, 0)), Errc::ok);
    EXPECT_EQ(decode(Hand().u8(0).u8(0).u8(1).u8(0).u64(0)), Errc::protocol) << "version 0";
    EXPECT_EQ(decode(Hand().u8(2).u8(0).u8(1).u8(0).u64(0)), Errc::protocol) << "version 2";
    EXPECT_EQ(decode(Hand().head(16, 1, 0, 0)), Errc::protocol) << "a flag that nobody knows";
    EXPECT_EQ(decode(Hand().head(9, 1, 0, 0)), Errc::protocol) << "bound, and handed on to be";
    EXPECT_EQ(decode(Hand().head(8, 1, 0, 0).u8(0).u8(0)), Errc::protocol) << "a home without bytes";
    EXPECT_EQ(decode(Hand().head(8, 1, 0, 0).u8(3).u8(0).u8(1)), Errc::protocol) << "a home that is cut short";
    EXPECT_EQ(decode(Hand().head(0, 0, 0, 0)), Errc::protocol) << "no access";
    EXPECT_EQ(decode(Hand().head(0, 4, 0, 0)), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(0, 1, 9, 0)), Errc::protocol) << "nine transports";
    EXPECT_EQ(decode(Hand().head(0, 1, 0, std::uint64_t{1} << 63)), Errc::protocol) << "absurd size";
}

TEST_F(DescriptorTest, MalformedKeys) {
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9)), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9).key("", "k")), Errc::protocol) << "no scheme";
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9).key("tcp", "")), Errc::protocol) << "no key";
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9).key("TCP", "k")), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9).key(std::string(32, 'a'), "k")), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(0, 1, 2, 9).key("tcp", "k").key("tcp", "l")), Errc::protocol) << "twice";
    EXPECT_EQ(decode(Hand().head(0, 1, 1, 9).u8(3).text("tcp").u32(0xffff'ffff).text("k")), Errc::protocol);
}

TEST_F(DescriptorTest, MalformedOwners) {
    EXPECT_EQ(decode(Hand().head(bound, 1, 0, 9).u8(0).u8(0).u8(0).u64(0)), Errc::protocol) << "nobody";
    EXPECT_EQ(decode(Hand().head(bound, 1, 0, 9).u8(9).u8(0).u8(0).u64(1)), Errc::protocol) << "nine endpoints";
    EXPECT_EQ(decode(Hand().head(bound, 1, 0, 9).u8(1).u8(0).u8(0).u64(1).u8(3).text("???")), Errc::protocol);
    EXPECT_EQ(decode(Hand().head(bound, 1, 0, 9).u8(1)), Errc::protocol);
}

TEST_F(DescriptorTest, MalformedSegments) {
    const auto told = [](std::uint64_t bytes, std::uint32_t count, std::initializer_list<std::uint64_t> lengths) {
        Hand hand = Hand().head(segments, 1, 0, bytes).u32(count);
        for (std::uint64_t length : lengths) hand.u64(length);
        return decode(hand);
    };
    EXPECT_EQ(told(9, 2, {4, 5}), Errc::ok);
    EXPECT_EQ(told(9, 2, {4, 6}), Errc::protocol) << "more than the whole";
    EXPECT_EQ(told(9, 2, {4, 4}), Errc::protocol) << "less than the whole";
    EXPECT_EQ(told(9, 2, {0, 9}), Errc::protocol) << "an empty segment";
    EXPECT_EQ(told(9, 1, {9}), Errc::protocol) << "one segment need not be told";
    EXPECT_EQ(told(0, 0, {}), Errc::protocol);
    EXPECT_EQ(told(9, 3, {4, 5}), Errc::protocol) << "cut";
    EXPECT_EQ(told(9, 0xffff'ffff, {4, 5}), Errc::protocol) << "absurd count";
    EXPECT_EQ(told(1, 2, {~std::uint64_t{0}, 2}), Errc::protocol) << "the sum wraps round";
}

TEST_F(DescriptorTest, MalformedEagerBytes) {
    EXPECT_EQ(decode(Hand().head(eager, 1, 0, 5).text("hello")), Errc::ok);
    EXPECT_EQ(decode(Hand().head(eager, 1, 0, 5).text("hell")), Errc::protocol) << "cut";
    EXPECT_EQ(decode(Hand().head(eager, 1, 0, 0)), Errc::protocol) << "none";
    EXPECT_EQ(decode(Hand().head(eager, 2, 0, 5).text("hello")), Errc::protocol) << "that nobody may read";
    EXPECT_EQ(decode(Hand().head(eager, 1, 0, std::uint64_t{1} << 40).text("hello")), Errc::protocol);
    Hand large = Hand().head(eager, 1, 0, descriptor_bytes_max);
    large.bytes.resize(large.bytes.size() + descriptor_bytes_max);
    EXPECT_EQ(decode(large), Errc::protocol) << "over the limit of a descriptor";
}

TEST_F(DescriptorTest, TruncatedDescriptorsAreRefused) {
    Scattered memory({10, 20, 30}, na::Access::read);
    memory.fill(1);
    const std::vector<std::byte> bytes = memory.bytes();
    Lend lends[2];
    ASSERT_EQ(lends[0].grant(memory.region, na::Access::read, resolving), Errc::ok);
    ASSERT_EQ(lends[1].grant(memory.region, na::Access::read, direct), Errc::ok);
    na::Lease* leases[] = {&lends[0].lease(), &lends[1].lease()};
    const Description description{leases, na::Addr::parse("tcp://127.0.0.1:1").value(), bytes};
    Encoded whole(described_bytes(description));
    ByteWriter writer(whole);
    describe(description, writer);
    ASSERT_TRUE(writer.ok());
    RemoteRegion region;
    EXPECT_EQ(decode(whole, region), Errc::ok);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_EQ(decode(Encoded(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), region),
                  Errc::protocol)
            << size;
    }
    for (Lend& lend : lends) EXPECT_EQ(lend.revoke(), Errc::ok);
}

}  // namespace
}  // namespace cinnabar::bulk
