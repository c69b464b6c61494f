// SPDX-License-Identifier: BSD-3-Clause
// The call that moves lent far memory, made by hand by a peer that lies or has no right to it.
#include "far_fixture.hpp"
#include "rpc/rpc_fixture.hpp"

#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/rpc/policy.hpp>

namespace cinnabar::rpc {
namespace {

constexpr const char* move_call = "cinnabar.far.move";
constexpr std::uint8_t owner_pushes = 1;
constexpr std::uint8_t owner_pulls = 2;

class FarCallTest : public RpcTest {
  protected:
    void SetUp() override {
        RpcTest::SetUp();
        if (IsSkipped()) return;
        lender = target_.engine->far_lender().value();
        region = bulk::Region::of_far(far, na::Access::read_write).value();
        ASSERT_EQ(lend.grant(region.slice(100, 800), na::Access::read, lender), Errc::ok);
    }
    void TearDown() override {
        if (lend.granted()) {
            EXPECT_EQ(lend.revoke(), Errc::ok) << "a chunk is in use still";
        }
        RpcTest::TearDown();
    }
    Errc ask(std::uint64_t shown, std::uint64_t offset, std::uint8_t direction, const bulk::Region& mine,
             na::Access access) {
        Call* const call = make(move_call);
        Writer writer(call->input_room());
        writer.u64(offset);
        writer.u8(direction);
        writer.u64(shown);
        EXPECT_EQ(call->lend(mine, access, writer), Errc::ok);
        return ending_of(*call, writer.size());
    }
    Errc ending_of(Call& call, std::size_t bytes) {
        Ending ending;
        EXPECT_EQ(call.forward(bytes, &Ending::take, &ending), Errc::ok);
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        return ending.result;
    }
    [[nodiscard]] std::uint64_t key() { return lend.lease().key; }

    std::shared_ptr<test::MadeUpFar> far = std::make_shared<test::MadeUpFar>(1000);
    std::shared_ptr<bulk::FarLender> lender;
    bulk::Region region;
    bulk::Lend lend;
    std::vector<std::byte> room = std::vector<std::byte>(800);
    bulk::Region window = bulk::Region::expose(Bytes(room), na::Access::read_write).value();
};

TEST_P(FarCallTest, ItMovesWhatTheKeyAllows) {
    EXPECT_EQ(ask(key(), 0, owner_pushes, window, na::Access::write), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(room, 1, 100));
    EXPECT_EQ(ask(key(), 700, owner_pushes, window.slice(0, 100), na::Access::write), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(room).first(100), 1, 800));
}

TEST_P(FarCallTest, ItRefusesWhatTheKeyDoesNot) {
    EXPECT_EQ(ask(key() ^ 1, 0, owner_pushes, window, na::Access::write), Errc::permission);
    EXPECT_EQ(ask(0, 0, owner_pushes, window, na::Access::write), Errc::permission);
    EXPECT_EQ(ask(key(), 0, owner_pulls, window, na::Access::read), Errc::permission) << "lent for reading";
    EXPECT_EQ(ask(key(), 1, owner_pushes, window, na::Access::write), Errc::too_large);
    EXPECT_EQ(ask(key(), ~std::uint64_t{0}, owner_pushes, window, na::Access::write), Errc::too_large);
    EXPECT_EQ(ask(key(), 0, owner_pushes, window, na::Access::read), Errc::permission) << "the window is the caller's";
    EXPECT_EQ(far->entered, 0);
    const std::uint64_t known = key();
    EXPECT_EQ(lend.revoke(), Errc::ok);
    EXPECT_EQ(ask(known, 0, owner_pushes, window, na::Access::write), Errc::permission) << "taken back";
}

TEST_P(FarCallTest, MalformedOnesAreRefused) {
    EXPECT_EQ(ask(key(), 0, 3, window, na::Access::write), Errc::protocol);
    for (const std::size_t bytes : {0u, 8u, 16u, 17u}) {
        Call* const call = make(move_call);
        Writer writer(call->input_room().first(bytes));
        writer.bytes(std::vector<std::byte>(bytes, std::byte{1}));
        EXPECT_EQ(ending_of(*call, bytes), Errc::protocol) << bytes;
    }
    // A window of far memory, which would need a call to its owner.
    EXPECT_EQ(ask(key(), 0, owner_pushes, region.slice(0, 100), na::Access::write), Errc::protocol);
}

TEST_P(FarCallTest, NoPolicyIsAsked) {
    target_.context->set_policy(Policy::make({}).value());
    EXPECT_EQ(ask(key(), 0, owner_pushes, window, na::Access::write), Errc::ok);
}

INSTANTIATE_TEST_SUITE_P(On, FarCallTest, testing::Values(support::NetworkKind::tcp, support::NetworkKind::sim_strict),
                         [](const auto& kind) { return std::string(support::to_string(kind.param)); });

}  // namespace
}  // namespace cinnabar::rpc
