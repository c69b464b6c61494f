// SPDX-License-Identifier: BSD-3-Clause
// Where slots grow with the connections, quiet ones leave them to a busy one, and many busy ones have enough.
#include "rpc_fixture.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t quiet = 12;

// Of 64 slots, 24 are for requests. The first credits and the control messages of 13 connections would need 52.
class SlotsTest : public RpcTest {
  protected:
    explicit SlotsTest(std::uint32_t slots = 64, std::size_t origins = quiet + 1) : slots_(slots), origins_(origins) {}
    void SetUp() override {
        transport_options_.receive_slots = slots_;
        ASSERT_NO_FATAL_FAILURE(open_target());
        to_ = target_.context->self_addr();
        serve_echo();
        for (std::size_t i = 0; i < origins_.size(); ++i) {
            open(origins_[i], 0, false, ("origin" + std::to_string(i)).c_str());
            ASSERT_NO_FATAL_FAILURE(call(origins_[i], 1));
        }
    }
    void TearDown() override {
        for (Side& origin : origins_) origin.context.reset();
        RpcTest::TearDown();
    }
    virtual void open_target() { open(target_, 0, true); }
    void forward(Side& from, Ending& ending) {
        Errc why = Errc::ok;
        Call* const made = from.context->make_call(to_, why);
        ASSERT_NE(made, nullptr) << to_string(why);
        made->args.rpc = rpc_id("echo");
        ASSERT_EQ(made->forward(0, &Ending::take, &ending), Errc::ok);
    }
    // Makes so many calls at once.
    void call(Side& from, std::size_t count) {
        std::vector<Ending> endings(count);
        for (Ending& ending : endings) ASSERT_NO_FATAL_FAILURE(forward(from, ending));
        ASSERT_TRUE(pump_of({&from, &target_}).until([&] { return from.context->counts().calls == 0; }));
        for (const Ending& ending : endings) EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    }

    void expect_more_for_a_busy_one() {
        const std::uint64_t first = target_.context->counts().credits_granted;
        EXPECT_EQ(first, (quiet + 1) * options_.context.initial_credits);
        call(origins_.back(), 200);
        EXPECT_GE(target_.context->counts().credits_granted, first + 4);
    }

    const std::uint32_t slots_;
    std::vector<Side> origins_;
};

TEST_P(SlotsTest, OfQuietConnectionsAreNotThoseOfABusyOne) { expect_more_for_a_busy_one(); }

// The target has a transport whose slots do not grow, too, as every node does: the one to itself.
class SlotsBesideSelfTest : public SlotsTest {
  protected:
    void open_target() override {
        na::TransportOptions listening = transport_options_;
        listening.listen = true;
        na::Registry registry;
        add_builtin(registry);
        target_.transport = network_.open("target", listening).value();
        std::shared_ptr<na::Transport> self = registry.open("self://?alone=yes", listening).value();
        target_.engine = Engine::open({target_.transport, std::move(self)}).value();
        Options options = options_;
        options.context.threads = ThreadUse::one;
        target_.context = target_.engine->open_context(options).value();
    }
};

TEST_P(SlotsBesideSelfTest, OfQuietConnectionsAreNotThoseOfABusyOne) { expect_more_for_a_busy_one(); }

constexpr std::size_t busy = 48;

class ManyBusyTest : public SlotsTest {
  protected:
    ManyBusyTest() : SlotsTest(1024, busy) {}
};

// With two or three requests of each on their way, they would not share system calls.
TEST_P(ManyBusyTest, EachMayHaveSeveralRequestsOnItsWay) {
    constexpr std::size_t in_flight = 8;
    support::Pump all = pump_of({&target_});
    for (Side& origin : origins_) all.add(origin.context->na());
    for (int rounds = 0; rounds < 6; ++rounds) {
        std::vector<Ending> endings(busy * in_flight);
        for (std::size_t i = 0; i < endings.size(); ++i)
            ASSERT_NO_FATAL_FAILURE(forward(origins_[i % busy], endings[i]));
        ASSERT_TRUE(all.until(
            [&] { return std::ranges::all_of(endings, [](const Ending& each) { return each.count == 1; }); }));
        for (const Ending& ending : endings) ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    }
    EXPECT_GE(target_.context->counts().credits_granted, busy * in_flight);
}

std::vector<support::NetworkKind> growing() {
    std::vector<support::NetworkKind> kinds = support::networks_for_calls();
    std::erase_if(kinds, [](support::NetworkKind kind) {
        return kind < support::NetworkKind::tcp || kind > support::NetworkKind::shm_buffers;
    });
    return kinds;
}

std::string name_of_network(const testing::TestParamInfo<support::NetworkKind>& i) {
    return support::to_string(i.param);
}

INSTANTIATE_TEST_SUITE_P(Over, SlotsTest, testing::ValuesIn(growing()), name_of_network);
INSTANTIATE_TEST_SUITE_P(Over, ManyBusyTest, testing::ValuesIn(growing()), name_of_network);
INSTANTIATE_TEST_SUITE_P(Over, SlotsBesideSelfTest, testing::ValuesIn(growing()), name_of_network);

}  // namespace
}  // namespace cinnabar::rpc
