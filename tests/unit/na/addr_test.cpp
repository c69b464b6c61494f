// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/addr.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace cinnabar::na {
namespace {

std::vector<std::byte> encoded(const Addr& addr) {
    std::vector<std::byte> bytes(addr.encoded_bytes());
    ByteWriter writer(bytes);
    addr.encode(writer);
    EXPECT_TRUE(writer.ok());
    EXPECT_EQ(writer.left(), 0u);
    return bytes;
}

TEST(Addr, EmptyIsNoAddress) {
    const Addr addr;
    EXPECT_TRUE(addr.empty());
    EXPECT_FALSE(addr);
    EXPECT_FALSE(addr.listens());
    EXPECT_EQ(addr.to_string(), "");
    const auto bytes = encoded(addr);
    ByteReader reader(bytes);
    EXPECT_TRUE(Addr::decode(reader).value().empty());
}

TEST(Addr, EqualOnesAreOneObject) {
    const Addr a = Addr::parse("tcp://host:1").value();
    const Addr b = Addr::parse("TCP://host:1").value();
    EXPECT_EQ(a, b);
    EXPECT_EQ(&a.body(), &b.body());
    EXPECT_FALSE(a == Addr::parse("tcp://host:2").value());
    EXPECT_FALSE(a == a.with_context(1));
    EXPECT_EQ(a.with_context(2), a.with_context(1).with_context(2));
    EXPECT_FALSE(a == Addr::make({"tcp://host:1"}, 0, 5));
}

TEST(Addr, ContextInTheText) {
    const Addr addr = Addr::parse("tcp://host:1?context=7&x=2").value();
    EXPECT_EQ(addr.body().context, 7);
    EXPECT_EQ(addr.body().endpoints.front(), "tcp://host:1?x=2");
    EXPECT_EQ(addr.to_string(), "tcp://host:1?x=2&context=7");
    EXPECT_EQ(Addr::parse(addr.to_string()).value(), addr);
    for (const char* text :
         {"tcp://h?context=65535", "tcp://h?context=65536", "tcp://h?context=-1", "tcp://h?context=x"}) {
        EXPECT_EQ(Addr::parse(text).code(), Errc::bad_address) << text;
    }
    EXPECT_EQ(Addr::parse("tcp://" + std::string(300, 'a')).code(), Errc::bad_address);
}

TEST(Addr, ParallelOnesDifferInThisProcessOnly) {
    const Addr addr = Addr::parse("tcp://host:1?context=3").value();
    const Addr second = addr.in_parallel(1);
    EXPECT_FALSE(addr == second);
    EXPECT_FALSE(second == addr.in_parallel(2));
    EXPECT_EQ(second, addr.in_parallel(2).in_parallel(1));
    EXPECT_EQ(addr, second.in_parallel(0));
    EXPECT_EQ(second.with_context(4), addr.with_context(4).in_parallel(1));
    EXPECT_EQ(second.to_string(), addr.to_string());
    EXPECT_EQ(encoded(second), encoded(addr));
    const Addr connection = Addr::of_connection("tcp", 0, 0, 5, false);
    EXPECT_EQ(connection.in_parallel(1), connection);
    EXPECT_TRUE(Addr().in_parallel(1).empty());
}

TEST(Addr, TheFirstContextIsAnotherAddressThanNone) {
    const Addr any = Addr::parse("tcp://host:1").value();
    const Addr first = Addr::parse("tcp://host:1?context=0").value();
    EXPECT_FALSE(any == first);
    EXPECT_FALSE(any.body().names_context);
    EXPECT_TRUE(first.body().names_context);
    EXPECT_EQ(any.body().context, first.body().context) << "transports that do not spread need not ask";
    EXPECT_EQ(any.with_context(0), first);
    EXPECT_EQ(any, Addr::make({"tcp://host:1"}, 0, 0));
    EXPECT_EQ(any.to_string(), "tcp://host:1");
    EXPECT_EQ(first.to_string(), "tcp://host:1?context=0");
    for (const Addr& addr : {any, first}) {
        const auto bytes = encoded(addr);
        ByteReader reader(bytes);
        EXPECT_EQ(Addr::decode(reader).value(), addr);
        EXPECT_EQ(bytes[1], std::byte(addr == any ? 0xff : 0));
        EXPECT_EQ(bytes[2], std::byte(addr == any ? 0xff : 0));
    }
    // A peer that does not listen is never dialled, so its address needs no context.
    EXPECT_EQ(Addr::make({}, 0, 5), Addr::make({}, 0, 5).with_context(0));
    auto nowhere = encoded(Addr::make({}, 0, 5));
    nowhere[1] = nowhere[2] = std::byte{0xff};
    ByteReader reader(nowhere);
    EXPECT_EQ(Addr::decode(reader).code(), Errc::protocol);
}

TEST(Addr, SeveralEndpointsOfOnePeer) {
    const Addr addr = Addr::parse("tcp://[::1]:1?context=7,shm://x?host=0a,b&y=1,ofi+tcp;ofi_rxm://h/p").value();
    EXPECT_EQ(addr.body().endpoints,
              (std::vector<std::string>{"tcp://[::1]:1", "shm://x?host=0a,b&y=1", "ofi+tcp;ofi_rxm://h/p"}));
    EXPECT_EQ(addr.body().context, 7);
    EXPECT_EQ(Addr::parse(addr.to_string()).value(), addr);
    for (const char* text : {",tcp://h", "tcp://h:1,shm://x:70000", "tcp://h:1,"}) {
        EXPECT_EQ(Addr::parse(text).code(), Errc::bad_address) << text;
    }
    std::string many = "tcp://h:1";
    for (int i = 2; i <= 9; ++i) many += ",tcp://h:" + std::to_string(i);
    EXPECT_EQ(Addr::parse(many).code(), Errc::bad_address);
}

TEST(Addr, EachConnectionHasItsOwn) {
    const Addr addr = Addr::of_connection("tcp", 0, 3, 99, false);
    EXPECT_TRUE(addr.is_connection());
    EXPECT_FALSE(addr.listens());
    EXPECT_FALSE(addr == Addr::of_connection("tcp", 0, 3, 99, false)) << "whatever both claim";
    EXPECT_FALSE(addr == Addr::make({}, 3, 99)) << "what anybody may write";
    const Addr copy = addr;
    EXPECT_EQ(copy, addr);
    EXPECT_EQ(addr.with_context(3), addr);
    EXPECT_FALSE(addr.with_context(4).is_connection()) << "another context has another connection";
}

TEST(Addr, OfAConnectionKnowsWhichContextHasIt) {
    EXPECT_EQ(Addr::of_connection("tcp", 2, 3, 99, false).body().held_by, 2);
}

TEST(Addr, OfAConnectionMeansNothingElsewhere) {
    const Addr addr = Addr::of_connection("tcp", 0, 3, 99, true);
    EXPECT_FALSE(Addr::parse(addr.to_string()).ok());
    const auto bytes = encoded(addr);
    EXPECT_EQ(bytes, encoded(Addr::make({}, 3, 99)));
    ByteReader reader(bytes);
    const Addr elsewhere = Addr::decode(reader).value();
    EXPECT_FALSE(elsewhere.listens());
    EXPECT_FALSE(elsewhere.is_connection());
    EXPECT_FALSE(elsewhere.body().own);
    EXPECT_FALSE(elsewhere == addr);
    EXPECT_EQ(elsewhere, Addr::make({}, 3, 99));
}

TEST(Addr, OfAConnectionTellsWhereItCameFrom) {
    const auto told = [](ContextId context, std::string from) {
        return Addr::of_connection("tcp", 0, context, 99, false, std::move(from)).to_string();
    };
    EXPECT_EQ(told(0, "tcp://10.0.0.5:41234"), "incoming tcp://10.0.0.5:41234");
    EXPECT_EQ(told(3, "tcp://10.0.0.5:41234"), "incoming tcp://10.0.0.5:41234 context 3");
    EXPECT_EQ(told(0, {}), "incoming tcp");
    for (const char* text : {"incoming tcp://10.0.0.5:41234", "incoming tcp"})
        EXPECT_EQ(Addr::parse(text).code(), Errc::bad_address) << text;
}

TEST(Addr, WireForm) {
    const Addr addr = Addr::make({"tcp://host:1", "shm://x"}, 0x0102, 0x1112131415161718);
    const auto bytes = encoded(addr);
    EXPECT_EQ(bytes.size(), 11u + 1 + 12 + 1 + 7);
    EXPECT_EQ(bytes[0], std::byte{2});
    EXPECT_EQ(bytes[1], std::byte{0x02});
    EXPECT_EQ(bytes[3], std::byte{0x18});
    ByteReader reader(bytes);
    EXPECT_EQ(Addr::decode(reader).value(), addr);
    EXPECT_EQ(reader.left(), 0u);
}

TEST(Addr, TruncatedBytesAreRefused) {
    const auto bytes = encoded(Addr::make({"tcp://host:1", "shm://x"}, 1, 2));
    for (std::size_t count = 0; count < bytes.size(); ++count) {
        ByteReader reader(ConstBytes(bytes).first(count));
        EXPECT_EQ(Addr::decode(reader).code(), Errc::protocol) << count;
    }
}

TEST(Addr, TooManyEndpointsAndMalformedBytesAreRefused) {
    std::vector<std::byte> bytes(4096);
    ByteWriter writer(bytes);
    writer.u8(9);
    writer.u16(0);
    writer.u64(1);
    for (int i = 0; i < 9; ++i) {
        writer.u8(5);
        writer.bytes(as_bytes("x://y"));
    }
    ByteReader reader(writer.written());
    EXPECT_EQ(Addr::decode(reader).code(), Errc::protocol);
    ByteWriter malformed(bytes);
    malformed.u8(1);
    malformed.u16(0);
    malformed.u64(1);
    malformed.u8(3);
    malformed.bytes(as_bytes("abc"));
    ByteReader second(malformed.written());
    EXPECT_EQ(Addr::decode(second).code(), Errc::protocol);
}

TEST(Addr, RandomBytesNeverCrashAndComeBackEqualWhenTheyDecode) {
    Random random(7);
    for (int i = 0; i < 50'000; ++i) {
        std::vector<std::byte> bytes = encoded(Addr::make({"tcp://host:1", "shm://x"}, 1, 2));
        const auto changes = 1 + random.below(3);
        for (std::uint64_t k = 0; k < changes; ++k) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
        }
        ByteReader reader(bytes);
        const auto decoded = Addr::decode(reader);
        if (!decoded || decoded->empty()) continue;
        const auto again = encoded(*decoded);
        ByteReader second(again);
        EXPECT_EQ(Addr::decode(second).value(), *decoded);
    }
}

TEST(Addr, MadeAndDroppedByManyThreads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 5000; ++i) {
                const Addr a = Addr::make({"x://shared"}, static_cast<ContextId>(i % 3), 1);
                const Addr b = a;  // NOLINT: the copy is the test
                EXPECT_EQ(b.body().context, i % 3);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cinnabar::na
