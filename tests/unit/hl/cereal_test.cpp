// SPDX-License-Identifier: BSD-3-Clause
// Types with cereal functions can be sent unchanged, and hostile bytes meet the same limits as for other types.
#include "unit/rpc/proc_checks.hpp"

#include <cinnabar/hl/cereal.hpp>

#include <cereal/types/base_class.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <gtest/gtest.h>

#include <map>

namespace elsewhere {

class Person {
  public:
    Person() = default;
    Person(std::string name, int age) : name_(std::move(name)), age_(age) {}
    bool operator==(const Person&) const = default;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(CEREAL_NVP(name_), age_, friends_);
    }
    std::vector<Person> friends_;

  private:
    std::string name_;
    int age_ = 0;
};

// An aggregate, but its serialize() takes precedence everywhere.
struct Cached {
    int value = 0;
    int cache = 0;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(value);
    }
};

struct Split {
    std::map<std::string, bool> map;
    std::vector<double> numbers;
    bool operator==(const Split&) const = default;
};
template <class Archive>
void save(Archive& archive, const Split& split) {
    archive(split.map, split.numbers);
}
template <class Archive>
void load(Archive& archive, Split& split) {
    archive(split.map, split.numbers);
}

struct Minimal {
    int value = 0;
    template <class Archive>
    int save_minimal(const Archive&) const {
        return value;
    }
    template <class Archive>
    void load_minimal(const Archive&, const int& from) {
        value = from;
    }
};

struct Versioned {
    int value = 0;
    std::uint32_t version = 0;
    template <class Archive>
    void serialize(Archive& archive, std::uint32_t its_version) {
        archive(value);
        version = its_version;
    }
};

struct Shape {
    virtual ~Shape() = default;
    [[nodiscard]] virtual int corners() const = 0;
    template <class Archive>
    void serialize(Archive&) {}
};
struct Square : Shape {
    int side = 0;
    [[nodiscard]] int corners() const override { return 4; }
    template <class Archive>
    void serialize(Archive& archive) {
        archive(cereal::base_class<Shape>(this), side);
    }
};
struct Drawing {
    std::vector<std::shared_ptr<Shape>> shapes;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(shapes);
    }
};

struct Chain {
    std::unique_ptr<Chain> next;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(next);
    }
};

}  // namespace elsewhere

CEREAL_CLASS_VERSION(elsewhere::Versioned, 3)
CEREAL_REGISTER_TYPE(elsewhere::Square)

namespace cinnabar::hl::test {
namespace {

using namespace elsewhere;
using rpc::test::bytes_of;
using rpc::test::check_round_trip;
using rpc::test::decode_error;
using rpc::test::encoded;

TEST(Cereal, AClassWithSerialize) {
    Person person("Ann", 40);
    person.friends_ = {Person("Bob", 50), Person("Eve", 60)};
    check_round_trip(person);
    check_round_trip(std::vector<Person>{person, person});
    check_round_trip(std::tuple<int, Person, std::string>{1, person, "proc and cereal in one argument"});
}

TEST(Cereal, AnAggregateWithSerialize) {
    Cached back;
    ASSERT_EQ(rpc::decode(encoded(Cached{1, 99}), back), Errc::ok);
    EXPECT_EQ(back.value, 1);
    EXPECT_EQ(back.cache, 0);
    EXPECT_EQ(encoded(Cached{1, 99}).size(), sizeof(int));
}

TEST(Cereal, SaveAndLoadApart) { check_round_trip(Split{{{"yes", true}, {"no", false}}, {1, 2.5}}); }

TEST(Cereal, MinimalAndVersioned) {
    Minimal minimal;
    ASSERT_EQ(rpc::decode(encoded(Minimal{7}), minimal), Errc::ok);
    EXPECT_EQ(minimal.value, 7);
    Versioned versioned;
    ASSERT_EQ(rpc::decode(encoded(Versioned{8, 0}), versioned), Errc::ok);
    EXPECT_EQ(versioned.value, 8);
    EXPECT_EQ(versioned.version, 3u);
}

TEST(Cereal, SharedAndPolymorphicPointers) {
    Drawing drawing;
    auto square = std::make_shared<Square>();
    square->side = 3;
    drawing.shapes = {square, square};
    Drawing back;
    ASSERT_EQ(rpc::decode(encoded(drawing), back), Errc::ok);
    ASSERT_EQ(back.shapes.size(), 2u);
    EXPECT_EQ(back.shapes[0], back.shapes[1]);
    EXPECT_EQ(back.shapes[0]->corners(), 4);
    // cereal's own types can be arguments, too.
    std::shared_ptr<Square> lone;
    ASSERT_EQ(rpc::decode(encoded(square), lone), Errc::ok);
    EXPECT_EQ(lone->side, 3);
}

TEST(Cereal, WhatProcCanSendItStillSends) {
    EXPECT_EQ(encoded(std::vector<int>{1}), bytes_of({1, 0, 0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(encoded(std::string("a")).size(), 5u);
    static_assert(rpc::shape_of<Person>() == rpc::shape_of<Split>());  // both opaque
    static_assert(!rpc::Procable<std::weak_ptr<int>*>);
}

TEST(Cereal, AbsurdCountsAreRefusedBeforeMemoryIsTaken) {
    const auto absurd = bytes_of({255, 255, 255, 255, 255, 255, 255, 127, 1, 2, 3});
    EXPECT_EQ(decode_error<Split>(absurd), Errc::protocol);
    EXPECT_EQ(decode_error<Person>(absurd), Errc::protocol);
    // Many nested claims of as many elements as there are bytes: each claim is charged.
    Person at;
    std::vector<std::byte> nested;
    for (int level = 0; level < 60; ++level) {
        const std::uint64_t claim = 200'000 - 3000;
        const auto bytes = std::as_bytes(std::span(&claim, 1));
        nested.insert(nested.end(), 8, std::byte{0});  // an empty name
        nested.insert(nested.end(), 4, std::byte{0});  // an age
        nested.insert(nested.end(), bytes.begin(), bytes.end());
    }
    nested.resize(200'000);
    EXPECT_EQ(rpc::decode(nested, at, nullptr, rpc::DecodeLimits{0, 64}), Errc::too_large);
}

TEST(Cereal, ABoolIsZeroOrOne) {
    auto bytes = encoded(Split{{{"k", true}}, {}});
    bytes[8 + 8 + 1] = std::byte{2};
    EXPECT_EQ(decode_error<Split>(bytes), Errc::protocol);
}

TEST(Cereal, NestingEnds) {
    EXPECT_EQ(decode_error<Chain>(std::vector<std::byte>(100'000, std::byte{1})), Errc::too_large);
    Chain chain;
    Chain* at = &chain;
    for (int i = 0; i < 1000; ++i) at = (at->next = std::make_unique<Chain>()).get();
    EXPECT_EQ(rpc::proc_size(chain), rpc::Sizer::unencodable);
    std::vector<std::byte> room(10'000);
    std::size_t used = 1;
    EXPECT_EQ(rpc::encode(room, chain, used), Errc::too_large);
    EXPECT_EQ(used, 0u);
}

TEST(Cereal, AnUnknownPolymorphicTypeIsMalformed) {
    Drawing drawing;
    drawing.shapes = {std::make_shared<Square>()};
    auto bytes = encoded(drawing);
    const std::size_t at = as_text(bytes).find("elsewhere::Square");
    ASSERT_NE(at, std::string_view::npos);
    bytes[at] = std::byte{'X'};
    EXPECT_EQ(decode_error<Drawing>(bytes), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::hl::test
