// SPDX-License-Identifier: BSD-3-Clause
// Types with their own encoding: proc and proc_fields as friends, members and free functions.
#include "proc_checks.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace elsewhere {  // found by ADL; proc knows no such namespace

class Account {
  public:
    Account() = default;
    Account(int id, std::string owner) : id_(id), owner_(std::move(owner)) {}
    bool operator==(const Account&) const = default;

  private:
    int id_ = 0;
    std::string owner_ = "nobody";
    friend auto proc_fields(Account& v) { return std::tie(v.id_, v.owner_); }
};

struct Base {
    int base = 0;
};
struct Derived : Base {  // not a plain aggregate
    int more = 0;
    bool operator==(const Derived& other) const { return base == other.base && more == other.more; }
};
auto proc_fields(Derived& v) { return std::tie(v.base, v.more); }

struct Free {
    std::uint8_t length = 0;
    char text[8] = {};
    bool operator==(const Free&) const = default;
};
template <class P>
void proc(P& p, Free& v) {
    p(v.length);
    if (v.length > sizeof(v.text)) return p.fail(cinnabar::Errc::protocol);
    p.raw(v.text, v.length);
}

class Member {
  public:
    static constexpr int proc_shape = 7;
    Member() = default;
    explicit Member(int value) : value_(value) {}
    bool operator==(const Member&) const = default;
    template <class P>
    void proc(P& p) {
        int doubled = P::decoding ? 0 : value_ * 2;
        p(doubled);
        if constexpr (P::decoding) value_ = doubled / 2;
    }

  private:
    int value_ = 0;
};
class OtherMember : public Member {
  public:
    static constexpr int proc_shape = 8;
};

struct Contextual {
    int seen = 0;
};
template <class P>
void proc(P& p, Contextual& v) {
    p(v.seen);
    if (p.user() != nullptr) v.seen += *static_cast<int*>(p.user());
}

struct Nothing {};
template <class P>
void proc(P&, Nothing&) {}

struct Throwing {
    bool armed = false;
};
template <class P>
void proc(P& p, Throwing& v) {
    p(v.armed);
    if (v.armed) throw std::runtime_error("from user code");
}

// They have what the codecs of std::map and std::list look for.
template <class Key>
struct OwnTable {
    using key_type = Key;
    using node_type = Key;
    using allocator_type = std::allocator<Key>;
    Key key{};
    bool operator==(const OwnTable&) const = default;
};
template <class P, class Key>
void proc(P& p, OwnTable<Key>& v) {
    p(v.key);
}
template <class Value>
class OwnChain {
  public:
    using allocator_type = std::allocator<Value>;
    OwnChain() = default;
    explicit OwnChain(Value value) : value_(value) {}
    void emplace_front() {}
    void emplace_back() {}
    bool operator==(const OwnChain&) const = default;

  private:
    Value value_{};
    friend auto proc_fields(OwnChain& v) { return std::tie(v.value_); }
};

}  // namespace elsewhere

namespace cinnabar::rpc::test {
namespace {

using namespace elsewhere;

TEST(ProcCustom, AClassListsItsFields) {
    check_round_trip(Account{3, "someone"});
    check_round_trip(std::vector<Account>{{1, "a"}, {2, "b"}});
    check_round_trip(Derived{{1}, 2});
    static_assert(shape_of<Account>() == shape_of<std::pair<int, std::string>>());
    Account back{9, "stale"};
    ASSERT_EQ(decode(encoded(7), back), Errc::ok);  // it can get more fields, like an aggregate
    EXPECT_EQ(back, (Account{7, "nobody"}));
}

TEST(ProcCustom, AFreeFunctionWritesAnything) {
    check_round_trip(Free{3, {'a', 'b', 'c'}});
    check_round_trip(std::pair<Free, int>{{}, 4});
    EXPECT_EQ(encoded(Free{2, {'h', 'i'}}), bytes_of({2, 'h', 'i'}));
    EXPECT_EQ(decode_error<Free>(bytes_of({9, 1, 2, 3, 4, 5, 6, 7, 8, 9})), Errc::protocol);
}

TEST(ProcCustom, AMemberToo) {
    check_round_trip(Member{21});
    EXPECT_EQ(encoded(Member{21}), encoded(42));
    EXPECT_NE(shape_of<Member>(), shape_of<OtherMember>());
}

TEST(ProcCustom, AContainerThatSaysHowItIsEncodedIsEncodedSo) {
    check_round_trip(OwnTable<int>{7});
    EXPECT_EQ(encoded(OwnTable<int>{7}), encoded(7));
    check_round_trip(OwnChain<int>{7});
    EXPECT_EQ(encoded(OwnChain<int>{7}), encoded(7));
}

TEST(ProcCustom, TheContextReachesTheFunction) {
    int context = 100;
    const auto bytes = encoded(Contextual{5});
    Contextual back;
    ASSERT_EQ(decode(bytes, back, &context), Errc::ok);
    EXPECT_EQ(back.seen, 105);
    EXPECT_EQ(proc_size(Contextual{1}, &context), sizeof(int));
}

TEST(ProcCustom, AnElementOfNoBytesIsRefusedWhereItIsWritten) {
    std::byte room[64];
    std::size_t used = 0;
    EXPECT_EQ(encode(room, std::vector<Nothing>(3), used), Errc::invalid_argument);
    EXPECT_EQ(encode(room, Nothing{}, used), Errc::ok);
    EXPECT_EQ(used, 0u);
}

TEST(ProcCustom, ExceptionsOfUserCodeBecomeErrors) {
    std::byte room[8];
    std::size_t used = 1;
    EXPECT_EQ(encode(room, Throwing{true}, used), Errc::invalid_argument);
    EXPECT_EQ(used, 0u);
    EXPECT_EQ(proc_size(Throwing{true}), Sizer::unencodable);
    EXPECT_EQ(decode_error<Throwing>(bytes_of({1})), Errc::protocol);
    EXPECT_EQ(decode_error<Throwing>(bytes_of({0})), Errc::ok);
}

}  // namespace

struct TooMany {
    int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff, gg;
};
struct HoldsPointer {
    int* at;
};
struct HoldsConst {
    const int value;
};
struct NoAggregate {
    explicit NoAggregate(int v) : value(v) {}
    int value;
};
union Overlay {
    int a;
    float b;
};
struct NeedsArgument {
    NoAggregate inner{1};
    auto operator<=>(const NeedsArgument&) const = delete;
};

static_assert(Procable<int> && Procable<Empty> && Procable<std::vector<Account>> && Procable<Member>);
static_assert(!Procable<int*> && !Procable<int&> && !Procable<const char*> && !Procable<void*>);
static_assert(!Procable<HoldsPointer> && !Procable<std::vector<HoldsPointer>> && !Procable<HoldsConst>);
static_assert(!Procable<TooMany> && !Procable<NoAggregate> && !Procable<NeedsArgument> && !Procable<Overlay>);
static_assert(!Procable<long double> && !Procable<std::nullptr_t>);
static_assert(!Procable<std::span<int>> && !Procable<std::span<const bool>>);
static_assert(Procable<std::span<const int>> && !Procable<std::span<const std::string>>);
static_assert(!Procable<std::vector<Empty>> && !Procable<std::unique_ptr<int[]>>);
static_assert(!Procable<std::shared_ptr<int>>);

}  // namespace cinnabar::rpc::test
