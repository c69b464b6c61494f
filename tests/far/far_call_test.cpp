// SPDX-License-Identifier: BSD-3-Clause
// The call that moves lent far memory, made by hand by a peer that lies or has no right to that memory.
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
constexpr std::uint8_t owner_writes_shown = 3;
constexpr std::uint8_t owner_reads_shown = 4;

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
    Errc ask(std::uint64_t known, std::uint64_t offset, std::uint8_t direction, const bulk::Region& mine,
             na::Access access) {
        Call* const call = make(move_call);
        ByteWriter writer(call->input_room());
        writer.u64(offset);
        writer.u8(direction);
        writer.u64(known);
        EXPECT_EQ(call->lend(mine, access, writer), Errc::ok);
        return ending_of(*call, writer.size());
    }
    // Asks by a handle of `shown` from `at` on, without the last `missing` bytes of the handle.
    Errc ask_by_handle(std::uint64_t known, std::uint64_t offset, std::uint8_t direction, std::uint64_t bytes,
                       std::uint64_t at = 0, std::size_t missing = 0, std::uint8_t kind = 1) {
        bulk::IpcHandle handle;
        EXPECT_EQ(shown->ipc_handle(at, handle).code, Errc::ok);
        Call* const call = make(move_call);
        ByteWriter writer(call->input_room());
        writer.u64(offset);
        writer.u8(direction);
        writer.u64(known);
        writer.u64(bytes);
        writer.u8(kind);
        writer.u64(handle.offset);
        writer.bytes(handle.driver);
        return ending_of(*call, writer.size() - missing);
    }
    [[nodiscard]] static bool own_user_is_known() { return GetParam() == support::NetworkKind::shm; }
    Errc ending_of(Call& call, std::size_t bytes) {
        Ending ending;
        EXPECT_EQ(call.forward(bytes, &Ending::take, &ending), Errc::ok);
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        return ending.result;
    }
    [[nodiscard]] std::uint64_t key() { return lend.lease().key; }

    std::shared_ptr<test::MadeUpFar> far = std::make_shared<test::MadeUpFar>(1000);
    const std::shared_ptr<test::MadeUpFar> shown = std::make_shared<test::MadeUpFar>(1000, 2);  // memory of the caller
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

TEST_P(FarCallTest, AKeyIsGoodForThePeerItWasLentTo) {
    na::Peer& another = *target_.context->na().peer(to_).value();
    another.acquire();
    lend.confine(another);
    EXPECT_EQ(ask(key(), 0, owner_pushes, window, na::Access::write), Errc::permission);
    EXPECT_EQ(far->entered, 0);
    another.release();
}

TEST_P(FarCallTest, MalformedOnesAreRefused) {
    EXPECT_EQ(ask(key(), 0, 5, window, na::Access::write), Errc::protocol);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_writes_shown, 100, 0, 1), Errc::protocol);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_reads_shown, 100, 0, 65), Errc::protocol);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_writes_shown, 0), Errc::protocol);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_writes_shown, 100, 0, 0, 9), Errc::unsupported) << "another kind";
    for (const std::size_t bytes : {0u, 8u, 16u, 17u}) {
        Call* const call = make(move_call);
        ByteWriter writer(call->input_room().first(bytes));
        writer.bytes(std::vector<std::byte>(bytes, std::byte{1}));
        EXPECT_EQ(ending_of(*call, bytes), Errc::protocol) << bytes;
    }
    // A window of far memory, which would require a call to its owner.
    EXPECT_EQ(ask(key(), 0, owner_pushes, region.slice(0, 100), na::Access::write), Errc::protocol);
}

TEST_P(FarCallTest, WhatIsShownIsOpenedForTheOwnUserAlone) {
    const Errc ended = ask_by_handle(key(), 10, owner_writes_shown, 700, 50);
    EXPECT_EQ(ended, own_user_is_known() ? Errc::ok : Errc::unsupported);
    EXPECT_EQ(far->opens, own_user_is_known() ? 1 : 0);
    EXPECT_EQ(far->open, 0);
    if (own_user_is_known()) {
        EXPECT_TRUE(support::holds_pattern(ConstBytes(shown->memory()).subspan(50, 700), 1, 110));
    }
    EXPECT_TRUE(support::holds_pattern(ConstBytes(shown->memory()).first(50), 2));
}

// If the peer is known to have the same user.
class FarShownTest : public FarCallTest {};

TEST_P(FarShownTest, TheKeySaysWhatMayBeCopied) {
    EXPECT_EQ(ask_by_handle(key() ^ 1, 0, owner_writes_shown, 100), Errc::permission);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_reads_shown, 100), Errc::permission) << "lent for reading";
    EXPECT_EQ(ask_by_handle(key(), 701, owner_writes_shown, 100), Errc::too_large);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_writes_shown, ~std::uint64_t{0}), Errc::too_large);
    EXPECT_EQ(far->opens, 0);
    EXPECT_EQ(ask_by_handle(key(), 0, owner_writes_shown, 100, 901), Errc::too_large)
        << "it has fewer bytes than it says";
    const std::uint64_t known = key();
    EXPECT_EQ(lend.revoke(), Errc::ok);
    EXPECT_EQ(ask_by_handle(known, 0, owner_writes_shown, 100), Errc::permission) << "taken back";
    EXPECT_EQ(far->opens, 0);
}

// A call that shows memory does not reach peers of other users.
TEST_P(FarCallTest, MemoryIsShownToTheOwnUserAlone) {
    const auto showing = [this](bool shows) {
        Call* const call = make("nobody_serves_this");
        if (shows) call->shows_memory();
        return ending_of(*call, 0);
    };
    EXPECT_EQ(showing(false), Errc::no_such_rpc);
    EXPECT_EQ(showing(true), own_user_is_known() ? Errc::no_such_rpc : Errc::unsupported);
}

TEST_P(FarCallTest, ARequestIsOfTheOwnUserWhileItsConnectionLasts) {
    Request* kept = nullptr;
    serve("keep_it", [&kept](Request& request) {
        request.detach();
        kept = &request;
    });
    Call* const call = make("keep_it");
    Ending ending;
    EXPECT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
    ASSERT_TRUE(until([&] { return kept != nullptr; }));
    EXPECT_EQ(kept->from_own_user(), own_user_is_known());
    origin_.context.reset();
    EXPECT_TRUE(pump_of({&target_}).until([&] { return kept->canceled(); }, std::chrono::seconds(20)));
    EXPECT_FALSE(kept->from_own_user());
    kept->release();
}

TEST_P(FarCallTest, NoPolicyIsAsked) {
    target_.context->set_policy(Policy::make({}).value());
    EXPECT_EQ(ask(key(), 0, owner_pushes, window, na::Access::write), Errc::ok);
}

INSTANTIATE_TEST_SUITE_P(On, FarShownTest, testing::Values(support::NetworkKind::shm),
                         [](const auto& kind) { return std::string(support::to_string(kind.param)); });
INSTANTIATE_TEST_SUITE_P(On, FarCallTest,
                         testing::Values(support::NetworkKind::tcp, support::NetworkKind::shm,
                                         support::NetworkKind::sim_strict),
                         [](const auto& kind) { return std::string(support::to_string(kind.param)); });

}  // namespace
}  // namespace cinnabar::rpc
