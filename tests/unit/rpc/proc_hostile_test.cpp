// SPDX-License-Identifier: BSD-3-Clause
// Untrusted bytes: malformed ones are refused, and refusing is cheap.
#include "proc_checks.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <array>
#include <bitset>
#include <list>
#include <map>
#include <unordered_set>
#include <variant>

namespace cinnabar::rpc::test {
namespace {

// The bytes that the containers of a test take from the heap.
std::size_t allocated_bytes = 0;
template <class T>
struct CountingAllocator {
    using value_type = T;
    CountingAllocator() = default;
    template <class U>
    CountingAllocator(const CountingAllocator<U>&) {}
    T* allocate(std::size_t count) {
        allocated_bytes += count * sizeof(T);
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T* at, std::size_t count) { std::allocator<T>().deallocate(at, count); }
    bool operator==(const CountingAllocator&) const { return true; }
};
template <class T>
using CountedVector = std::vector<T, CountingAllocator<T>>;
template <class T>
using CountedList = std::list<T, CountingAllocator<T>>;
template <class T>
using CountedSet = std::multiset<T, std::less<>, CountingAllocator<T>>;

template <class T>
class ProcAbsurdCount : public ::testing::Test {};
using Counted = ::testing::Types<CountedVector<std::uint8_t>, CountedVector<std::uint64_t>, CountedVector<std::string>,
                                 CountedVector<CountedVector<int>>, CountedList<int>, CountedSet<int>,
                                 CountedVector<std::array<std::optional<int>, 3>>>;
TYPED_TEST_SUITE(ProcAbsurdCount, Counted);

TYPED_TEST(ProcAbsurdCount, AllocatesNothing) {
    for (const int top : {1, 0x7F, 0xFF}) {
        allocated_bytes = 0;
        EXPECT_EQ(decode_error<TypeParam>(bytes_of({0xFF, 0xFF, 0xFF, top, 1, 2, 3, 4, 5, 6, 7, 8})), Errc::protocol);
        EXPECT_EQ(allocated_bytes, 0u);
    }
}

TEST(ProcHostile, ABoolIsZeroOrOne) {
    EXPECT_EQ(decode_error<bool>(bytes_of({2})), Errc::protocol);
    EXPECT_EQ(decode_error<std::vector<bool>>(bytes_of({2, 0, 0, 0, 1, 255})), Errc::protocol);
    EXPECT_EQ((decode_error<std::array<bool, 2>>(bytes_of({1, 3}))), Errc::protocol);
    EXPECT_EQ(decode_error<std::optional<int>>(bytes_of({2, 0, 0, 0, 0})), Errc::protocol);
    EXPECT_EQ(decode_error<std::unique_ptr<int>>(bytes_of({9, 0, 0, 0, 0})), Errc::protocol);
    enum class Flag : bool { off, on };
    EXPECT_EQ(decode_error<Flag>(bytes_of({4})), Errc::protocol);
    struct Holds {
        bool a, b;
    };
    EXPECT_EQ(decode_error<Holds>(bytes_of({1, 2})), Errc::protocol);
    EXPECT_EQ(decode_error<std::vector<Holds>>(bytes_of({1, 0, 0, 0, 1, 2})), Errc::protocol);
}

TEST(ProcHostile, AVariantHasAsManyAlternativesAsItHas) {
    using Choice = std::variant<std::uint8_t, char>;
    EXPECT_EQ(decode_error<Choice>(bytes_of({1, 0})), Errc::ok);
    EXPECT_EQ(decode_error<Choice>(bytes_of({2, 0})), Errc::protocol);
    EXPECT_EQ(decode_error<Choice>(bytes_of({255, 0})), Errc::protocol);
}

TEST(ProcHostile, BitsBeyondTheSetAreZero) {
    EXPECT_EQ(decode_error<std::bitset<9>>(bytes_of({0, 1})), Errc::ok);
    EXPECT_EQ(decode_error<std::bitset<9>>(bytes_of({0, 2})), Errc::protocol);
}

TEST(ProcHostile, PaddingIsZero) {
    using Values = std::pair<std::uint8_t, std::vector<std::uint64_t>>;
    std::vector<std::byte> bytes = encoded(Values{1, {2}});
    ASSERT_EQ(bytes.size(), 16u);
    EXPECT_EQ(decode_error<Values>(bytes), Errc::ok);
    bytes[6] = std::byte{1};
    EXPECT_EQ(decode_error<Values>(bytes), Errc::protocol);
}

TEST(ProcHostile, AKeyComesOnce) {
    const auto twice = bytes_of({2, 0, 0, 0, 7, 7});
    EXPECT_EQ(decode_error<std::set<std::uint8_t>>(twice), Errc::protocol);
    EXPECT_EQ(decode_error<std::unordered_set<std::uint8_t>>(twice), Errc::protocol);
    EXPECT_EQ(decode_error<std::multiset<std::uint8_t>>(twice), Errc::ok);
    EXPECT_EQ((decode_error<std::map<std::uint8_t, char>>(bytes_of({2, 0, 0, 0, 7, 'a', 7, 'b'}))), Errc::protocol);
}

struct Chain {
    std::unique_ptr<Chain> next;
};
struct Nest {
    std::vector<Nest> inner;
};
struct Choices {
    std::uint8_t tag = 0;
    std::vector<std::variant<std::uint8_t, Choices>> inner;
};

TEST(ProcHostile, NestingEnds) {
    EXPECT_EQ(decode_error<Chain>(std::vector<std::byte>(100'000, std::byte{1})), Errc::too_large);
    std::vector<std::byte> nested;
    for (int i = 0; i < 10'000; ++i)
        for (const std::byte byte : bytes_of({1, 0, 0, 0})) nested.push_back(byte);
    EXPECT_EQ(decode_error<Nest>(nested), Errc::too_large);
    std::vector<std::byte> choices;
    for (int i = 0; i < 10'000; ++i)
        for (const std::byte byte : bytes_of({5, 1, 0, 0, 0, 1})) choices.push_back(byte);
    EXPECT_EQ(decode_error<Choices>(choices), Errc::too_large);
}

TEST(ProcHostile, SmallElementsThatAreLargeInMemoryAreLimited) {
    struct Large {
        std::optional<std::array<std::uint64_t, 4096>> block;
    };
    using Blocks = CountedVector<Large>;
    const auto bytes = encoded(Blocks(1000));  // one byte each on the wire, 32 KiB each in memory
    allocated_bytes = 0;
    EXPECT_EQ(decode_error<Blocks>(bytes), Errc::too_large);
    EXPECT_EQ(allocated_bytes, 0u);
    Blocks back;
    EXPECT_EQ(decode(bytes, back, nullptr, DecodeLimits{.memory_base_bytes = std::size_t{1} << 26}), Errc::ok);
    EXPECT_EQ(back.size(), 1000u);
}

TEST(ProcHostile, TheLimitsOfMemoryAreExact) {
    const auto bytes = encoded(std::list<std::uint64_t>(10));
    std::list<std::uint64_t> back;
    const std::size_t needed = 10 * (sizeof(std::uint64_t) + detail::node_overhead_bytes);
    EXPECT_EQ(decode(bytes, back, nullptr, DecodeLimits{needed, 0}), Errc::ok);
    EXPECT_EQ(decode(bytes, back, nullptr, DecodeLimits{needed - 1, 0}), Errc::too_large);
    // If the sum does not fit in a size_t, it means no limit, not a small one.
    EXPECT_EQ(decode(bytes, back, nullptr, DecodeLimits{~std::size_t{0}, 64}), Errc::ok);
}

// Records what is charged to the payer of a message; refuses from the `charges_max`-th charge on.
struct Payer {
    std::size_t charges_max = ~std::size_t{0};
    std::size_t charges = 0;
    std::size_t bytes = 0;

    [[nodiscard]] DecodeLimits limits() {
        return {.charge =
                    [](void* self, std::size_t more) noexcept {
                        auto& payer = *static_cast<Payer*>(self);
                        if (payer.charges++ >= payer.charges_max) return Errc::overloaded;
                        payer.bytes += more;
                        return Errc::ok;
                    },
                .payer = this};
    }
};

TEST(ProcHostile, MemoryBeyondThatOfAMessageIsCharged) {
    using Maybes = std::vector<std::optional<std::string>>;
    Maybes back;
    Payer payer;
    const std::size_t few = decode_free_bytes / sizeof(Maybes::value_type);
    EXPECT_EQ(decode(encoded(Maybes(few)), back, nullptr, payer.limits()), Errc::ok);
    EXPECT_EQ(payer.charges, 0u);
    constexpr std::size_t many = 100'000;
    EXPECT_EQ(decode(encoded(Maybes(many)), back, nullptr, payer.limits()), Errc::ok);
    EXPECT_EQ(payer.charges, 1u);
    EXPECT_EQ(payer.bytes, many * sizeof(Maybes::value_type) - decode_free_bytes);

    // Charged element by element, in steps, and decoded only as far as is paid for.
    payer = {};
    std::list<std::uint8_t> list;
    EXPECT_EQ(decode(encoded(std::list<std::uint8_t>(many)), list, nullptr, payer.limits()), Errc::ok);
    EXPECT_GE(payer.bytes + decode_free_bytes, many * (1 + detail::node_overhead_bytes));
    payer = {.charges_max = 0};
    using Nested = CountedVector<CountedVector<std::uint8_t>>;
    const auto nested = encoded(Nested(100, Nested::value_type(1'000)));
    Nested inner;
    allocated_bytes = 0;
    EXPECT_EQ(decode(nested, inner, nullptr, payer.limits()), Errc::overloaded);
    EXPECT_LE(allocated_bytes, decode_free_bytes);
    EXPECT_EQ(payer.charges, 1u);
}

TEST(ProcHostile, ContainersOfSmallElementsFitInTheDefaultLimits) {
    EXPECT_EQ(decode_error<std::list<std::uint8_t>>(encoded(std::list<std::uint8_t>(200'000))), Errc::ok);
    EXPECT_EQ(decode_error<std::multiset<std::uint8_t>>(encoded(std::multiset<std::uint8_t>{1, 1, 1})), Errc::ok);
    EXPECT_EQ(decode_error<std::vector<std::string>>(encoded(std::vector<std::string>(200'000))), Errc::ok);
    using Maybe = std::variant<std::monostate, std::string>;
    EXPECT_EQ(decode_error<std::vector<Maybe>>(encoded(std::vector<Maybe>(200'000))), Errc::ok);
    using Pair = std::variant<std::monostate, std::pair<std::string, std::string>>;  // 1 byte on the wire, 72 in memory
    EXPECT_EQ(decode_error<std::vector<Pair>>(encoded(std::vector<Pair>(200'000))), Errc::too_large);
}

TEST(ProcHostile, AViewOfWideElementsNeedsAnAlignedPayload) {
    const std::array<std::uint32_t, 2> values{1, 2};
    const auto bytes = encoded(std::span<const std::uint32_t>(values));
    alignas(8) std::byte room[64] = {};
    std::memcpy(room + 1, bytes.data(), bytes.size());
    std::span<const std::uint32_t> view;
    EXPECT_EQ(decode(ConstBytes(room + 1, bytes.size()), view), Errc::invalid_argument);
    std::vector<std::uint32_t> copy;  // a copy needs no alignment
    EXPECT_EQ(decode(ConstBytes(room + 1, bytes.size()), copy), Errc::ok);
    EXPECT_EQ(copy, (std::vector<std::uint32_t>{1, 2}));
    std::span<const std::byte> narrow;
    std::memcpy(room + 1, encoded(std::span<const std::byte>(room + 40, 3)).data(), 7);
    EXPECT_EQ(decode(ConstBytes(room + 1, 7), narrow), Errc::ok);
}

template <class T>
struct ExhaustedAllocator {
    using value_type = T;
    ExhaustedAllocator() = default;
    template <class U>
    ExhaustedAllocator(const ExhaustedAllocator<U>&) {}
    T* allocate(std::size_t) { throw std::bad_alloc(); }
    void deallocate(T*, std::size_t) {}
    bool operator==(const ExhaustedAllocator&) const { return true; }
};

TEST(ProcHostile, MemoryThatRunsOutIsAnError) {
    using Values = std::vector<int, ExhaustedAllocator<int>>;
    EXPECT_EQ(decode_error<Values>(encoded(std::vector<int>{1})), Errc::out_of_memory);
    using Text = std::basic_string<char, std::char_traits<char>, ExhaustedAllocator<char>>;
    EXPECT_EQ(decode_error<Text>(encoded(std::string(100, 'x'))), Errc::out_of_memory);
}

struct Everything {
    std::uint8_t small = 0;
    std::vector<std::uint32_t> numbers;
    std::map<std::uint8_t, std::string> names;
    std::optional<std::variant<bool, double, std::vector<std::string>>> choice;
    std::unique_ptr<Everything> next;
    std::vector<Everything> children;
    std::bitset<5> bits;
    std::chrono::milliseconds age{};
    std::string_view view;
    std::span<const std::uint16_t> words;
};

// A value decoded from arbitrary bytes is like any other: it can be encoded, and a round trip gives the same bytes.
template <class T>
[[nodiscard]] bool accept_and_repeat(ConstBytes bytes) {
    const Payload payload(bytes);
    T value{};
    if (decode(payload.bytes(), value) != Errc::ok) return false;
    const auto again = encoded(value);
    const Payload second(again);
    T back{};
    EXPECT_EQ(decode(second.bytes(), back), Errc::ok);
    EXPECT_EQ(encoded(back), again);
    return true;
}

TEST(ProcHostile, RandomBytes) {
    std::size_t accepted = 0;
    cinnabar::test::for_each_seed([&](std::uint64_t seed) {
        Random random(seed);
        for (int i = 0; i < 100; ++i) {
            std::vector<std::byte> bytes(random.below(80));
            // Mostly small numbers, since otherwise no count would ever be plausible.
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(random.chance(8) ? 256 : 3));
            accepted += accept_and_repeat<Everything>(bytes) ? 1 : 0;
        }
    });
    EXPECT_GT(accepted, 0u);
}

TEST(ProcHostile, AValueWithOneByteChanged) {
    Everything value;
    value.small = 1;
    value.numbers = {1, 2, 3};
    value.names = {{1, "one"}, {2, "two"}};
    value.choice = std::vector<std::string>{"x", "y"};
    value.next = std::make_unique<Everything>();
    value.children.resize(2);
    value.view = "view";
    const std::uint16_t words[] = {1, 2};
    value.words = words;
    check_truncations(value);
    const std::vector<std::byte> bytes = encoded(value);
    std::size_t accepted = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const int mask : {1, 2, 0x80, 0xFF}) {
            std::vector<std::byte> changed = bytes;
            changed[at] ^= static_cast<std::byte>(mask);
            accepted += accept_and_repeat<Everything>(changed) ? 1 : 0;
        }
    }
    EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace cinnabar::rpc::test
