// SPDX-License-Identifier: BSD-3-Clause
// A hostile seed, which answers a process that joins by hand.
#include "profile_at.hpp"
#include "sim_group.hpp"
#include "wire.hpp"

#include <cinnabar/hl/serve.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Claim;
using group::Group;
using group::GroupOptions;
using group::JoinAnswer;
using group::JoinRequest;
using group::State;
using group::ViewPage;
using group::ViewRequest;

constexpr std::uint32_t last_life = std::numeric_limits<std::uint32_t>::max();

// A seed that deceives a process which joins.
class LyingSeed : public testing::Test {
  protected:
    std::shared_ptr<sim::World> world_ = sim::World::numbered(20'100, {.seed = 32});
    Node seed_ = Node::listen("sim://seed?world=20100").value();
    Node guest_ = Node::listen("sim://guest?world=20100").value();
    JoinAnswer answer_{1, 1, 1};
    std::size_t pages_ = 0;
    std::function<ViewPage(const ViewRequest&)> page_ = [](const ViewRequest&) { return ViewPage{}; };

    LyingSeed() {
        seed_.serve(group::join_rpc, [this](const JoinRequest&) { return answer_; }).value();
        const auto page = [this](const ViewRequest& request) {
            ++pages_;
            return page_(request);
        };
        seed_.serve(group::view_rpc, page).value();
    }
    [[nodiscard]] Result<Group> join() {
        GroupOptions options;
        options.seed = 33;
        options.join_time = 1s;
        options.swim.members_max = 1000;
        return sync_wait(Group::join(guest_, {"sim://seed"}, options));
    }
};

TEST_F(LyingSeed, a_view_without_end_is_refused) {
    page_ = [](const ViewRequest& request) {
        ViewPage page{1, {}, request.from + 1, false, {}};
        page.claims.resize(64, Claim{request.from, 1, 0, State::alive, 5, group::no_rank, {}});
        return page;
    };
    EXPECT_EQ(join().code(), Errc::protocol);
    EXPECT_LE(pages_, 16u * 10);
}

TEST_F(LyingSeed, pages_that_are_too_large_or_lead_nowhere_are_refused) {
    page_ = [](const ViewRequest&) {
        ViewPage page{1, {}, group::no_rank, false, {}};
        page.claims.resize(65, Claim{2, 1});
        return page;
    };
    EXPECT_EQ(join().code(), Errc::protocol);
    page_ = [](const ViewRequest& request) { return ViewPage{1, {}, request.from, false, {}}; };
    EXPECT_EQ(join().code(), Errc::protocol);
}

TEST_F(LyingSeed, pages_without_claims_are_refused) {
    page_ = [](const ViewRequest& request) { return ViewPage{1, {}, request.from + 1, false, {}}; };
    EXPECT_EQ(join().code(), Errc::protocol);
    EXPECT_LE(pages_, 16u);
}

TEST_F(LyingSeed, one_that_shows_its_view_slowly_holds_nobody_beyond_the_time_to_join) {
    (void)seed_.withdraw(group::view_rpc);
    const auto slowly = [this](const ViewRequest& request) -> Task<Result<ViewPage>> {
        (void)co_await seed_.sleep_for(400ms);
        ViewPage page{1, {}, request.from + 1, false, {}};
        page.claims = {Claim{request.from, 1, 0, State::alive, 5, group::no_rank, {}}};
        co_return page;
    };
    seed_.serve(group::view_rpc, slowly).value();
    const TimeUs from = world_->now_us();
    EXPECT_EQ(join().code(), Errc::timed_out);
    EXPECT_LT(world_->now_us() - from, 1'100'000u);
}

TEST_F(LyingSeed, one_whose_claims_cannot_be_believed_is_not_asked_again_in_a_hurry) {
    page_ = [](const ViewRequest&) {
        ViewPage page{1, {}, group::no_rank, false, {}};
        page.claims = {Claim{0, 1, 0, State::alive, 6, group::no_rank, profile_at("sim://seed")}};
        return page;
    };
    std::size_t asked = 0;
    const auto tell = [&asked](const group::FollowRequest& request) {
        ViewPage page{1, {request.known.version + 1, 7}, group::no_rank, false, {}};
        page.claims = {Claim{2, last_life, 0, State::alive, 5, group::no_rank, {}}};
        ++asked;
        return page;
    };
    seed_.serve(group::follow_rpc, tell).value();
    const Group follower = sync_wait(Group::follow(guest_, {"sim://seed"}, GroupOptions{.seed = 34})).value();
    (void)guest_.run_for(2s);
    EXPECT_GT(asked, 4u);
    EXPECT_LE(asked, 40u) << "one in 50 ms";
}

TEST_F(LyingSeed, a_rank_or_a_life_that_cannot_be_is_refused) {
    answer_ = {1, 1000, 1};
    EXPECT_EQ(join().code(), Errc::protocol);
    answer_ = {1, 1, 0};
    EXPECT_EQ(join().code(), Errc::protocol);
    answer_ = {1, 1, last_life};
    EXPECT_EQ(join().code(), Errc::protocol);
}

TEST_F(LyingSeed, is_asked_for_those_members_of_a_roster_that_are_not_known) {
    answer_ = {1, 0, 1};
    std::vector<std::uint64_t> known;
    page_ = [&known](const ViewRequest& request) {
        known = request.known;
        ViewPage page{1, {}, group::no_rank, false, {}};
        page.claims = {Claim{1, 1, 0, State::alive, 6, group::no_rank, profile_at("sim://seed")}};
        return page;
    };
    const group::Roster roster{{"sim://guest", "sim://seed", "sim://seed"}, 0};
    const Group started = Group::start(guest_, roster, GroupOptions{.seed = 33}).value();
    (void)guest_.run_for(500ms);
    (void)seed_.withdraw(group::view_rpc);
    EXPECT_GE(pages_, 2u) << "it looks for rank 2, too";
    EXPECT_EQ(known, (std::vector<std::uint64_t>{0b010})) << "neither rank 2 nor itself";
}

TEST_F(LyingSeed, claims_that_cannot_be_are_left_out_of_the_view) {
    page_ = [](const ViewRequest&) {
        ViewPage page{1, {}, group::no_rank, false, {}};
        page.claims = {Claim{2, last_life, 0, State::alive, 5, group::no_rank, {}},
                       Claim{5000, 1, 0, State::alive, 5, group::no_rank, {}},
                       Claim{0, 1, 0, State::alive, 6, group::no_rank, profile_at("sim://seed")}};
        return page;
    };
    const Group group = join().value();
    EXPECT_EQ(group.view().members().size(), 2u) << "itself and the seed";
    EXPECT_EQ(group.view().find(2), nullptr);
}

}  // namespace
}  // namespace cinnabar::test
