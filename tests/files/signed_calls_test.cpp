// SPDX-License-Identifier: BSD-3-Clause
// Signed calls: a call that was changed, forged or sent before is refused.
#include "session/signed_calls.hpp"

#include <gtest/gtest.h>

namespace cinnabar::files {
namespace {

TEST(SeenNumbers, EachIsGoodOnceInAnyOrder) {
    SeenNumbers seen;
    for (const std::uint64_t number : {5u, 1u, 3u, 2u, 4u, 6u}) EXPECT_TRUE(seen.take(number)) << number;
    for (std::uint64_t number = 0; number <= 6; ++number) EXPECT_FALSE(seen.take(number)) << number;
}

TEST(SeenNumbers, WhatIsTooFarBehindIsRefused) {
    constexpr auto span = SeenNumbers::span;
    SeenNumbers seen;
    EXPECT_TRUE(seen.take(1));
    EXPECT_TRUE(seen.take(span + 5));
    EXPECT_FALSE(seen.take(5)) << "span behind: it may have come before";
    EXPECT_TRUE(seen.take(6));
    EXPECT_FALSE(seen.take(6));
    EXPECT_TRUE(seen.take(100 * span));
    EXPECT_TRUE(seen.take(100 * span - 1)) << "the bits of older numbers are gone";
    EXPECT_TRUE(seen.take(~std::uint64_t{0}));
    EXPECT_FALSE(seen.take(100 * span - 2));
}

TEST(SeenNumbers, ALongRunHasNoGapsAndNoRepeats) {
    SeenNumbers seen;
    for (std::uint64_t number = 2; number < 3 * SeenNumbers::span; number += 2) {
        ASSERT_TRUE(seen.take(number));
        ASSERT_TRUE(seen.take(number - 1));
        ASSERT_FALSE(seen.take(number));
        ASSERT_FALSE(seen.take(number - 1));
    }
}

struct SealTest : testing::Test {
    Token token{1, 2};
    Nonce shared = make_nonce();
    Seals here{token, Secret(shared)};
    Seals there{token, Secret(shared)};
    OpenIn open() {
        OpenIn in;
        in.name = "name";
        in.bytes = 10;
        in.attributes.mode = 0600;
        here.stamp(in);
        return in;
    }
};

TEST_F(SealTest, ACallIsGoodOnce) {
    const auto first = open();
    const auto second = open();
    EXPECT_TRUE(there.check(second).ok());
    EXPECT_TRUE(there.check(first).ok());
    EXPECT_EQ(there.check(first).code(), Errc::permission);
    EXPECT_EQ(there.check(second).code(), Errc::permission);
}

TEST_F(SealTest, NothingOfItCanBeChanged) {
    const auto good = open();
    const auto with = [&good](auto change) {
        auto in = good;
        change(in);
        return in;
    };
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.name = "nam"; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.bytes = 11; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.attributes.mode = 0666; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.attributes.modified_ns = 1; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.attributes.extended.push_back({"user.a", ""}); })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.exact = true; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.sparse = true; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.replace = true; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.checked = false; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.compares = true; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.source[31] = 1; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.rereads = true; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.seal.number += 1; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.seal.token.low += 1; })).ok());
    EXPECT_FALSE(there.check(with([](OpenIn& in) { in.seal.mac[31] ^= 1; })).ok());
    EXPECT_TRUE(there.check(good).ok()) << "what was refused used up no number";
}

TEST_F(SealTest, WhatIsMadeCannotBeChanged) {
    MakeIn good;
    good.kind = MakeKind::link;
    good.name = "name";
    good.target = "target";
    here.stamp(good);
    const auto refused = [&](auto change) {
        auto in = good;
        change(in);
        return there.check(in).code() == Errc::permission;
    };
    EXPECT_TRUE(refused([](MakeIn& in) { in.kind = MakeKind::hard_link; }));
    EXPECT_TRUE(refused([](MakeIn& in) { in.name = "nam"; }));
    EXPECT_TRUE(refused([](MakeIn& in) { in.name = "nametarget", in.target.clear(); }));
    EXPECT_TRUE(refused([](MakeIn& in) { in.target = "/etc"; }));
    EXPECT_TRUE(refused([](MakeIn& in) { in.attributes.mode = 0777; }));
    EXPECT_TRUE(refused([](MakeIn& in) { in.replace = true; }));
    EXPECT_TRUE(there.check(good).ok());
}

TEST_F(SealTest, APackThatIsLentCannotBeChanged) {
    TakePackIn good;
    good.pack = 7;
    good.files.resize(2);
    good.files[1].outcome = {Errc::not_found, "gone"};
    here.stamp(good);
    const auto refused = [&](auto change) {
        auto in = good;
        change(in);
        return there.check(in).code() == Errc::permission;
    };
    EXPECT_TRUE(refused([](TakePackIn& in) { in.pack = 8; }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files.pop_back(); }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files[0].checksum = 1; }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files[0].attributes.mode = 07777; }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files[0].sparse = true; }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files[1].outcome.code = Errc::ok; }));
    EXPECT_TRUE(refused([](TakePackIn& in) { in.files[1].outcome.text = "GONE"; }));
    EXPECT_TRUE(there.check(good).ok());
    PulledIn pulled;
    pulled.pulled = 7;
    here.stamp(pulled);
    auto other = pulled;
    other.pulled = 8;
    EXPECT_EQ(there.check(other).code(), Errc::permission);
    EXPECT_TRUE(there.check(pulled).ok());
    PackIn pack;
    pack.pulled = 7;
    here.stamp(pack);
    auto unpulled = pack;
    unpulled.pulled = 0;
    EXPECT_EQ(there.check(unpulled).code(), Errc::permission);
    EXPECT_TRUE(there.check(pack).ok());
}

TEST_F(SealTest, WhereLinksAreFollowedCannotBeChanged) {
    RemoveIn remove;
    remove.name = "d/name";
    remove.links = LinkLimit::of("d");
    here.stamp(remove);
    ListIn list;
    list.name = "d";
    list.links = LinkLimit::of("");
    here.stamp(list);
    const auto with = [](auto in, std::optional<std::string_view> below) {
        in.links = LinkLimit::of(below);
        return in;
    };
    EXPECT_EQ(there.check(with(remove, {})).code(), Errc::permission);
    EXPECT_EQ(there.check(with(remove, "")).code(), Errc::permission);
    EXPECT_EQ(there.check(with(list, {})).code(), Errc::permission);
    EXPECT_EQ(there.check(with(list, "d")).code(), Errc::permission);
    EXPECT_TRUE(there.check(remove).ok());
    EXPECT_TRUE(there.check(list).ok());
}

TEST_F(SealTest, TheChecksumsOfBlocksCannotBeChanged) {
    WindowIn sent;
    sent.blocks = {1, 2};
    here.stamp(sent);
    const auto with = [](auto in, std::vector<std::uint64_t> blocks) {
        in.blocks = std::move(blocks);
        return in;
    };
    EXPECT_EQ(there.check(with(sent, {1, 3})).code(), Errc::permission);
    EXPECT_EQ(there.check(with(sent, {1})).code(), Errc::permission);
    WindowIn with_sum = sent;
    with_sum.so_far = 0;
    EXPECT_EQ(there.check(with_sum).code(), Errc::permission);
    EXPECT_TRUE(there.check(sent).ok());
    ClaimIn claim;
    claim.checksums = {1, 2};
    here.stamp(claim);
    ClaimIn other_claim = claim;
    other_claim.checksums = {1, 3};
    EXPECT_EQ(there.check(other_claim).code(), Errc::permission);
    EXPECT_TRUE(there.check(claim).ok());
    TakeIn take;
    take.blocks = {1, 2};
    here.stamp(take);
    EXPECT_EQ(there.check(with(take, {})).code(), Errc::permission);
    EXPECT_TRUE(there.check(take).ok());
    LendIn lend;
    lend.bytes = 4;
    here.stamp(lend);
    const auto other = [&lend](auto change) {
        auto in = lend;
        change(in);
        return in;
    };
    EXPECT_EQ(there.check(other([](LendIn& in) { in.bytes = 5; })).code(), Errc::permission);
    EXPECT_EQ(there.check(other([](LendIn& in) { in.compares = true; })).code(), Errc::permission);
    EXPECT_TRUE(there.check(lend).ok());
}

TEST_F(SealTest, AnotherOperationOrSessionIsRefused) {
    FinishIn finish;
    finish.file = 7;
    here.stamp(finish);
    AbortIn abort;
    abort.file = 7;
    abort.seal = finish.seal;
    EXPECT_EQ(there.check(abort).code(), Errc::permission);
    Seals elsewhere(token, Secret::random());
    EXPECT_EQ(elsewhere.check(finish).code(), Errc::permission);
    EXPECT_TRUE(there.check(finish).ok());
}

TEST_F(SealTest, WithoutAKeyCallsAreNumbered) {
    Seals mine(token, std::nullopt);
    Seals theirs(token, std::nullopt);
    PushIn push;
    mine.stamp(push);
    EXPECT_TRUE(theirs.check(push).ok());
    EXPECT_EQ(theirs.check(push).code(), Errc::permission);
}

}  // namespace
}  // namespace cinnabar::files
