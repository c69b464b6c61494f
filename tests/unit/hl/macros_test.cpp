// SPDX-License-Identifier: BSD-3-Clause
// Structs made by the macros can be arguments like any others.
#include <cinnabar/hl/macros.hpp>

#include <boost/preprocessor/cat.hpp>
#include <boost/preprocessor/repetition/repeat.hpp>
#include <gtest/gtest.h>

#include <map>

namespace cinnabar::hl::test {

using Table = std::map<int, std::string>;

CINNABAR_PROC_STRUCT(OpenIn, ((std::uint32_t)(flags))((std::string)(path))((Table)(table)));
CINNABAR_PROC_STRUCT(Two, ((std::int32_t)(first))((std::int32_t)(second)));

#define FIELD(z, n, unused) ((std::uint8_t)(BOOST_PP_CAT(field, n)))
CINNABAR_PROC_STRUCT(Fifty, BOOST_PP_REPEAT(50, FIELD, ~));
#undef FIELD

struct Existing {
    Existing() {}  // so that it is not an aggregate
    int kept = 1;
    int cache = 2;
    std::string name;
};
CINNABAR_PROC_FIELDS(Existing, (name)(kept))

struct FromMercury {
    FromMercury() {}
    std::uint64_t id = 0;
    double weight = 0;
};
CINNABAR_PROC_FIELDS(FromMercury, ((std::uint64_t)(id))((double)(weight)))

namespace {

template <class T>
std::vector<std::byte> encoded(const T& value) {
    std::vector<std::byte> bytes(rpc::proc_size(value));
    std::size_t used = 0;
    EXPECT_EQ(rpc::encode(bytes, value, used), Errc::ok);
    return bytes;
}

TEST(Macros, AStructIsMadeAndTravels) {
    OpenIn in;
    EXPECT_EQ(in.flags, 0u);
    in = {7, "/tmp", {{1, "one"}}};
    OpenIn back;
    ASSERT_EQ(rpc::decode(encoded(in), back), Errc::ok);
    EXPECT_EQ(back.flags, 7u);
    EXPECT_EQ(back.path, "/tmp");
    EXPECT_EQ(back.table, in.table);
}

TEST(Macros, ASmallOneIsAsFastAsAHandWrittenAggregate) {
    static_assert(rpc::Codec<Two>::any_bits);
    static_assert(rpc::shape_of<Two>() == rpc::shape_of<std::pair<int, int>>());
}

TEST(Macros, MoreFieldsThanAnAggregateMayHave) {
    Fifty fifty;
    fifty.field49 = 49;
    const auto bytes = encoded(fifty);
    ASSERT_EQ(bytes.size(), 50u);
    Fifty back;
    ASSERT_EQ(rpc::decode(bytes, back), Errc::ok);
    EXPECT_EQ(back.field49, 49);
    EXPECT_EQ(back.field0, 0);
}

TEST(Macros, AnExistingStructTravelsAsTheFieldsThatAreNamed) {
    Existing value;
    value.kept = 5;
    value.cache = 6;
    value.name = "x";
    EXPECT_EQ(encoded(value), encoded(std::tuple<std::string, int>("x", 5)));
    Existing back;
    ASSERT_EQ(rpc::decode(encoded(value), back), Errc::ok);
    EXPECT_EQ(back.kept, 5);
    EXPECT_EQ(back.cache, 2);
    EXPECT_EQ(back.name, "x");
}

TEST(Macros, MercurysListOfFieldsIsUnderstood) {
    FromMercury value;
    value.id = 1;
    value.weight = 2;
    EXPECT_EQ(encoded(value), encoded(std::tuple<std::uint64_t, double>(1, 2)));
}

}  // namespace
}  // namespace cinnabar::hl::test
