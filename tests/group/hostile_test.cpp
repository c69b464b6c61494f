// SPDX-License-Identifier: BSD-3-Clause
// Hostile peers that make the calls of a group by hand: strangers and members.
#include "profile_at.hpp"
#include "sim_group.hpp"
#include "variable_tree.hpp"
#include "variable_wire.hpp"
#include "wire.hpp"

#include <cinnabar/group/variable.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/serve.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Claim;
using group::CollectiveOptions;
using group::Group;
using group::GroupOptions;
using group::JoinAnswer;
using group::JoinRequest;
using group::Kind;
using group::Message;
using group::Rank;
using group::State;
using group::TreeAnswer;
using group::TreeRequest;
using group::ViewPage;
using group::ViewRequest;

constexpr CollectiveOptions ten_seconds{.deadline = 10s};
constexpr std::uint32_t no_more = std::numeric_limits<std::uint32_t>::max();

// A group, and a process that is not a member.
class LiarTest : public testing::Test {
  protected:
    static constexpr std::size_t members = 5;
    SimGroup all_{members, 31};
    Node liar_ = Node::listen(all_.uri("liar")).value();

    ~LiarTest() override { (void)liar_.withdraw(group::swim_message); }

    [[nodiscard]] Addr at(Rank rank) { return liar_.lookup("sim://m" + std::to_string(rank)).value(); }
    // The view that a member shows to any caller.
    [[nodiscard]] ViewPage page_of(Rank rank, Rank from = 0) {
        const ViewRequest request{"group", from};
        return liar_.call(group::view_rpc, at(rank), request, 1s).wait().value();
    }
    void say(Rank to, Message message) {
        (void)liar_.call(group::swim_message, at(to), message, 1s).wait();
        all_.run_for(1ms);  // until it has arrived
    }
    [[nodiscard]] Message message_from(Rank from, Rank to, Kind kind = Kind::sync_push) {
        return {page_of(to).group, kind, from, 1, to, group::no_rank, 1, {}, {}, {}};
    }
    [[nodiscard]] TreeRequest request_to_first(rpc::RpcId rpc) {
        TreeRequest request;
        request.group = page_of(0).group;
        request.to = 0;
        request.incarnation = 1;
        request.rpc = rpc;
        return request;
    }
    // A key whose root is that member, after skipping `others` such keys.
    [[nodiscard]] std::string key_of(Rank rank, int others = 0) {
        for (int i = 1;; ++i) {
            std::string key = "key" + std::to_string(i);
            if (group::position_of(key, all_[0].group->view(), 0, 0).reign.root == rank && others-- == 0) return key;
        }
    }
    void expect_all_well() {
        EXPECT_TRUE(all_.converge(60s));
        const auto sum = sync_wait(all_[0].group->reduce(give_rank, 1, group::plus, ten_seconds)).value();
        for (const auto& failure : sum.failures) ADD_FAILURE() << failure.rank << ": " << to_string(failure.code);
        EXPECT_EQ(sum.value, 15u);
    }
};

TEST_F(LiarTest, members_that_a_stranger_makes_up_are_bounded_and_go) {
    Message message = message_from(group::no_rank, 0);
    for (Rank rank = members; rank < 20'000; rank += 64) {
        message.claims.clear();
        for (Rank i = 0; i < 64; ++i)
            message.claims.push_back({rank + i, 1, 0, State::alive, 7, group::no_rank,
                                      profile_at("sim://nobody" + std::to_string((rank + i) % 50))});
        say(0, message);
    }
    EXPECT_LE(all_[0].group->view().members().size(), SimGroup::members_max);
    EXPECT_EQ(sync_wait(all_[0].group->call(give_rank, 3, 1, ten_seconds)).value(), 4u) << "in the middle of it";
    EXPECT_TRUE(all_.converge(1200s));
    expect_all_well();
}

TEST_F(LiarTest, a_member_in_whose_name_somebody_says_goodbye_comes_back) {
    const std::uint64_t process = page_of(0).claims.at(3).process;
    Message message = message_from(3, 0);
    message.claims = {Claim{3, 1, 0, State::left, process, 3, {}}};
    say(0, message);
    EXPECT_EQ(all_[0].group->view().find(3)->state, State::left);
    expect_all_well();
    EXPECT_EQ(all_[0].group->view().find(3)->incarnation, 2u);
}

TEST_F(LiarTest, what_a_stranger_says_of_a_member_excludes_nobody) {
    const std::uint64_t process = page_of(0).claims.at(3).process;
    for (int i = 0; i < 100; ++i) {
        for (const State gone : {State::suspect, State::left, State::excluded}) {
            Message message = message_from(1, 0);
            message.claims = {Claim{3, 1, no_more - 1, gone, process, 1, {}}};
            say(0, message);
            EXPECT_TRUE(is_present(all_[0].group->view().find(3)->state));
        }
        all_.run_for(50ms);
    }
    expect_all_well();
}

TEST_F(LiarTest, incarnations_at_their_end_are_believed_of_nobody) {
    for (const std::uint32_t incarnation : {no_more, no_more - 1, group::incarnation_max, group::incarnation_max + 1}) {
        for (const State state : {State::alive, State::suspect, State::left, State::excluded}) {
            Message message = message_from(2, 0, Kind::ping);
            for (const Rank rank : {0u, 1u, 2u})
                message.claims.push_back({rank, incarnation, no_more, state, 99, 2, profile_at("sim://liar")});
            say(0, message);
        }
    }
    all_.run_for(5s);
    for (const Rank rank : {0u, 1u, 2u}) EXPECT_EQ(all_[0].group->view().find(rank)->incarnation, 1u);
    expect_all_well();
}

TEST_F(LiarTest, stamps_of_the_future_are_asked_about_once_a_period) {
    std::size_t syncs = 0;
    liar_.serve(group::swim_message, [&syncs](const Message& message) { syncs += message.kind == Kind::sync; }).value();
    all_.run_for(10s);  // long enough for gossip
    Message message = message_from(4, 0, Kind::ping);
    message.stamp = {~std::uint64_t{0}, 1};
    for (int i = 0; i < 1000; ++i) say(0, message);
    EXPECT_LE(syncs, 12u) << "a second of ten periods";
    const group::FollowRequest ahead{message.group, message.stamp};
    const auto page = liar_.call(group::follow_rpc, at(0), ahead, 1s).wait();
    EXPECT_TRUE(page.value().too_old);
    expect_all_well();
}

TEST_F(LiarTest, one_who_follows_without_end_has_half_of_the_places) {
    const group::Stamp now = page_of(0).stamp;
    const std::uint64_t id = page_of(0).group;
    std::size_t refused = 0;
    for (std::uint32_t i = 0; i < 300; ++i)
        liar_.call(group::follow_rpc, at(0), group::FollowRequest{id, now}, 4s)
            .then([&refused](const Result<ViewPage>& page) { refused += page.code() == Errc::overloaded; });
    all_.run_for(1s);
    EXPECT_EQ(refused, 300u - GroupOptions{}.followers_max / 2);
    const auto client = all_.client();
    EXPECT_EQ(client->group->view().present().size(), members);
    (void)all_.add();
    all_.run_for(5s);
    EXPECT_EQ(client->group->view().present().size(), members + 1);
    client->group.reset();
}

TEST_F(LiarTest, calls_that_make_no_sense_are_refused_and_run_nothing) {
    const TreeRequest sound = request_to_first(give_rank.name().id);
    const auto refused = [&](auto change) {
        TreeRequest request = sound;
        request.id = {1, 1};
        change(request);
        return liar_.call(group::tree_rpc, at(0), request, 1s).wait().code();
    };
    EXPECT_EQ(refused([](TreeRequest& r) { r.mode = static_cast<group::detail::Mode>(9); }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.tree = static_cast<group::Tree>(77); }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.fanout = 0; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.fanout = 255; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.below = {{0, no_more}}; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.below = {{1, 2}, {2, 2}}; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.below = {{0, 2}}; }), Errc::protocol) << "itself below itself";
    EXPECT_EQ(refused([](TreeRequest& r) { r.claims.resize(65, Claim{1, 1}); }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.holders = {{2, 3, 1}, {4, 1, 1}}; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.holders.resize(SimGroup::members_max + 1); }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.group = 1; }), Errc::not_found);
    for (std::size_t i = 0; i < members; ++i) EXPECT_TRUE(all_[i].runs.empty());
    expect_all_well();
}

TEST_F(LiarTest, a_peer_that_calls_without_end_has_half_of_the_calls) {
    TreeRequest request = request_to_first(wait_long.name().id);
    request.shape = rpc::shape_of<rpc::Empty>();
    const auto refused = std::make_shared<std::size_t>(0);  // half of the calls end only when their node is closed
    for (std::uint64_t i = 0; i < SimGroup::calls_max; ++i) {
        request.id = {77, i};
        liar_.call(group::tree_rpc, at(0), request, 60s).then([refused](const Result<TreeAnswer>& answer) {
            *refused += answer.code() == Errc::overloaded;
        });
    }
    all_.run_for(1s);
    EXPECT_EQ(*refused, SimGroup::calls_max / 2);
    expect_all_well();
}

TEST_F(LiarTest, a_peer_that_pings_and_takes_no_answers_fills_no_queue) {
    Node mute = Node::listen(all_.uri("mute")).value();
    const Message ping = message_from(group::no_rank, 0, Kind::ping);
    const auto ping_for = [&](Microseconds span) {
        for (int i = 0; i < 200; ++i) mute.call(group::swim_message, at(0), ping, 1s).then([](const Result<void>&) {});
        all_.run_for(span);
    };
    const auto queued = [&] { return all_[0].node->rpc_context().counts().queued; };
    for (int i = 0; i < 20; ++i) ping_for(20ms);  // gets credits for many pings at once
    std::uint32_t most = 0;
    for (int i = 0; i < 10; ++i) {
        ping_for(60us);  // still in flight
        all_.world().stop("mute");
        for (int step = 0; step < 10; ++step) {
            all_.run_for(500us);
            most = std::max(most, queued());
        }
        all_.world().resume("mute");
        all_.run_for(200ms);
    }
    EXPECT_GT(most, 0u) << "it takes none";
    EXPECT_LE(most, 16u);
    EXPECT_EQ(queued(), 0u) << "and there is room for as many again";
    expect_all_well();
}

TEST_F(LiarTest, a_view_leaves_out_ranks_that_are_known_and_their_list_is_bounded) {
    ViewRequest request{"group", 0, {0b10110}};
    const ViewPage page = liar_.call(group::view_rpc, at(0), request, 1s).wait().value();
    std::vector<Rank> told;
    for (const Claim& claim : page.claims) told.push_back(claim.rank);
    EXPECT_EQ(told, (std::vector<Rank>{0, 3}));
    request.known.assign(SimGroup::members_max / 64 + 1, ~std::uint64_t{0});
    EXPECT_TRUE(liar_.call(group::view_rpc, at(0), request, 1s).wait().value().claims.empty());
    request.known.push_back(0);
    EXPECT_EQ(liar_.call(group::view_rpc, at(0), request, 1s).wait().code(), Errc::invalid_argument);
}

TEST_F(LiarTest, who_joins_without_a_roster_chooses_no_rank) {
    for (const Rank wanted : {0u, 3u, 7u, SimGroup::members_max - 1}) {
        const JoinRequest join{"group", wanted, 4242, liar_.self_addr(), {}, 0};
        EXPECT_EQ(liar_.call(group::join_rpc, at(0), join, 1s).wait().code(), Errc::invalid_argument);
    }
    EXPECT_EQ(all_.add().group->rank(), members);
}

TEST(LiarOfARoster, gets_neither_the_rank_of_the_member_that_it_asks_nor_one_of_no_line) {
    auto world = sim::World::numbered(20'101, {.seed = 36});
    Node node = Node::listen("sim://r0?world=20101").value();
    Node liar = Node::listen("sim://liar?world=20101").value();
    const group::Roster roster{{"sim://r0", "sim://r1"}, 0};
    const Group only = Group::start(node, roster, GroupOptions{.seed = 37}).value();
    const auto join = [&](Rank wanted, const Addr& address) {
        const JoinRequest request{"group", wanted, 4242, address, {}, 0};
        return liar.call(group::join_rpc, liar.lookup("sim://r0").value(), request, 1s).wait();
    };
    EXPECT_EQ(join(0, only.view().find(0)->address()).code(), Errc::busy);
    EXPECT_EQ(only.view().find(0)->incarnation, 1u);
    EXPECT_EQ(join(2, liar.self_addr()).code(), Errc::invalid_argument);
    EXPECT_EQ(join(1, liar.self_addr()).value().rank, 1u);
}

TEST_F(LiarTest, a_member_whose_rank_somebody_takes_has_left_and_says_so) {
    Group& pushed = *all_[3].group;
    group::Events events = pushed.events();
    Message message = message_from(group::no_rank, 3);
    message.claims = {Claim{3, 1, 0, State::alive, ~std::uint64_t{0}, group::no_rank, profile_at("sim://liar")}};
    say(3, message);
    EXPECT_EQ(sync_wait(with_deadline(events.next(), 1s)).code(), Errc::closed);
    EXPECT_EQ(sync_wait(pushed.broadcast(note, std::string("late"), ten_seconds)).code(), Errc::closed);
    EXPECT_EQ(liar_.call(group::view_rpc, at(3), ViewRequest{"group", 0}, 1s).wait().code(), Errc::no_such_rpc);
}

TEST_F(LiarTest, many_claims_to_a_rank_in_one_message_end_no_membership) {
    Message message = message_from(group::no_rank, 3);
    for (std::uint32_t life = 1; life <= 64; ++life)
        message.claims.push_back({3, life, 0, State::alive, 0, group::no_rank, profile_at("sim://liar")});
    say(3, message);
    EXPECT_EQ(all_[3].group->view().find(3)->incarnation, 65u);
    expect_all_well();
}

TEST_F(LiarTest, a_peer_that_makes_variables_without_end_has_half_of_the_keys) {
    TreeRequest request = request_to_first(group::update_rpc.name().id);
    request.shape = rpc::shape_of<group::Update>();
    request.mode = group::detail::Mode::gather;
    std::size_t made = 0;
    const auto update = [&](const std::string& key, std::size_t bytes) {
        const group::Update wanted{key, {}, group::Sync::none, false, 7, std::vector<std::byte>(bytes)};
        (void)group::detail::encode_into(request.input, wanted);
        request.id = {99, ++made};
        const auto answer = liar_.call(group::tree_rpc, at(0), request, 1s).wait();
        return answer->failures.empty() ? Errc::ok : answer->failures.front().code;
    };
    EXPECT_EQ(update(key_of(1), 10), Errc::again) << "it is not the root";
    EXPECT_EQ(update(key_of(0), 65 << 10), Errc::too_large);
    EXPECT_EQ(update(std::string(257, 'k'), 10), Errc::invalid_argument);
    std::size_t accepted = 0;
    for (int i = 0; i < 100; ++i) accepted += update(key_of(0, i), 10) == Errc::ok;
    EXPECT_EQ(accepted, SimGroup::keys_max / 2);
    const group::Variable<int> honest(*all_[1].group, key_of(0, 200));
    EXPECT_EQ(sync_wait(honest.update(5, group::Sync::eager, {.deadline = 10s}))->number, 1u);
    EXPECT_EQ(sync_wait(group::Variable<int>(*all_[0].group, honest.key()).fetch({.deadline = 10s}))->value, 5);
    expect_all_well();
}

// As if it had left and its goodbyes were lost: the others call it until they find out.
class SilentLeaver : public LiarTest {
  protected:
    static constexpr Rank gone = 3;

    void vanish() {
        const NodeRef node = *all_[gone].node;
        EXPECT_EQ(node.withdraw(group::swim_message), Errc::ok);
        EXPECT_EQ(node.withdraw(group::tree_rpc), Errc::ok);
    }
};

TEST_F(SilentLeaver, is_lost_to_who_calls_it) {
    vanish();
    EXPECT_EQ(sync_wait(all_[0].group->call(give_rank, gone, 1, ten_seconds)).code(), Errc::peer_lost);
}

TEST_F(SilentLeaver, is_replaced_as_the_root_of_a_variable_within_an_update) {
    const group::Variable<int> variable(*all_[0].group, key_of(gone));
    const auto first = sync_wait(variable.update(1, group::Sync::eager, {.deadline = 10s})).value();
    vanish();
    const auto next = sync_wait(variable.update(2, group::Sync::eager, {.deadline = 10s}));
    ASSERT_TRUE(next.ok()) << next.error().message();
    EXPECT_EQ(next->number, first.number + 1);
    EXPECT_NE(next->by, first.by);
}

// A member that lies in its answers affects only its own part and the members below it.
class LyingMember : public LiarTest {
  protected:
    LyingMember() {
        liar_.serve(group::swim_message, [this](hl::Request<Message> r) { answer_ping(*r, r.source()); }).value();
        liar_.serve(group::tree_rpc, [this](const TreeRequest& request) { return lie_(request); }).value();
        const JoinRequest join{"group", group::no_rank, 4242, liar_.self_addr(), {}, 0};
        joined_ = liar_.call(group::join_rpc, at(0), join, 1s).wait().value();
        EXPECT_TRUE(sync_wait(with_deadline(all_[0].group->wait_for_members(members + 1), 10s)).ok());
    }
    void answer_ping(const Message& ping, const Addr& source) {
        if (ping.kind != Kind::ping) return;
        const Message ack{joined_.group, Kind::ack,     joined_.rank, 1,  ping.from,
                          joined_.rank,  ping.sequence, {},           {}, {}};
        liar_.call(group::swim_message, source, ack, 1s).then([](const Result<void>&) {});
    }
    void expect_protocol_error(std::function<TreeAnswer(const TreeRequest&)> lie) {
        lie_ = std::move(lie);
        const CollectiveOptions flat{.deadline = 5s, .tree = group::Tree::flat};
        const auto gathered = sync_wait(all_[0].group->gather(give_rank, 1, flat)).value();
        EXPECT_EQ(gathered.values.size(), members);
        ASSERT_EQ(gathered.failures.size(), 1u);
        EXPECT_EQ(gathered.failures[0].rank, joined_.rank);
        EXPECT_NE(gathered.failures[0].code, Errc::ok);
    }
    JoinAnswer joined_;
    std::function<TreeAnswer(const TreeRequest&)> lie_ = [](const TreeRequest&) { return TreeAnswer{}; };
};

TEST_F(LyingMember, values_that_cannot_be_are_refused) {
    ASSERT_TRUE(sync_wait(with_deadline(all_[0].group->wait_for_members(members + 1), 10s)).ok());
    const group::Variable<std::string> variable(*all_[0].group, key_of(joined_.rank));
    const auto fetched = [&](const group::Sent& sent) {
        lie_ = [sent, this](const TreeRequest& request) {
            TreeAnswer answer;
            answer.count = 1;
            answer.parts.push_back({joined_.rank, {}});
            (void)group::detail::encode_into(answer.parts[0].bytes, sent);
            EXPECT_EQ(request.rpc, group::fetch_rpc.name().id);
            return answer;
        };
        const auto got = sync_wait(variable.fetch({.deadline = 1s}));
        return got.code();
    };
    const auto shape = rpc::shape_of<std::string>();
    EXPECT_EQ(fetched({{1, 1}, shape, false, std::vector<std::byte>(65 << 10), 0}), Errc::protocol) << "too large";
    EXPECT_EQ(fetched({{1, 1}, shape, true, {}, 1000}), Errc::protocol) << "nothing is known that it could be";
    EXPECT_EQ(fetched({{~std::uint64_t{0}, 1}, shape, false, {}, 1000}), Errc::protocol) << "the last version";
    EXPECT_EQ(fetched({{1, 1}, shape, false, {}, 0}), Errc::timed_out) << "its time is always over";
}

TEST_F(LyingMember, answers_that_do_not_add_up_cost_its_own_part) {
    expect_protocol_error([](const TreeRequest&) { return TreeAnswer{}; });
    expect_protocol_error([](const TreeRequest&) {
        TreeAnswer many;
        many.count = ~std::uint64_t{0};
        many.failures = {{5, Errc::io, 0, {}}, {5, Errc::io, 0, {}}};
        return many;
    });
    expect_protocol_error([](const TreeRequest&) {
        TreeAnswer of_others;
        of_others.count = 1;
        of_others.parts = {{2, {std::byte{1}}}};
        return of_others;
    });
    for (const std::vector<group::RankRun>& below :
         {std::vector<group::RankRun>{}, {{3, 1}}, {{0, no_more}}, {{3, 1}, {3, 1}}}) {
        expect_protocol_error([below](const TreeRequest&) {
            TreeAnswer leaves_others;
            leaves_others.orphans = {{2, below}};
            return leaves_others;
        });
    }
    expect_protocol_error([this](const TreeRequest&) {
        TreeAnswer leaves_itself;
        leaves_itself.orphans = {{joined_.rank, {}}};
        return leaves_itself;
    });
    expect_protocol_error([](const TreeRequest&) {
        TreeAnswer claims;
        claims.claims.resize(1000, Claim{1, 1, 0, State::excluded});
        return claims;
    });
    expect_protocol_error([this](const TreeRequest&) {
        TreeAnswer garbage;
        garbage.count = 1;
        garbage.parts = {{joined_.rank, {}}};
        return garbage;
    });
}

// It takes the ids that the caller has given out, and those that would follow them.
TEST_F(LyingMember, one_that_has_got_calls_cannot_cancel_later_ones_of_their_caller) {
    std::vector<group::CallId> ids;
    for (int i = 0; i < 3; ++i) {
        expect_protocol_error([&ids](const TreeRequest& request) {
            ids.push_back(request.id);
            return TreeAnswer{};
        });
    }
    std::optional<Result<int>> out;
    const auto wait = [&](Group group) -> Task<void> {
        auto task = group.call(wait_long, 2, CollectiveOptions{.deadline = 5s});
        out.emplace(co_await task);
    };
    ASSERT_EQ(all_[0].node->spawn(wait(*all_[0].group)), Errc::ok);
    all_.run_for(10ms);
    EXPECT_EQ(all_[2].waiting, 1);
    for (const group::CallId& id : ids) {
        for (std::uint64_t more = 0; more < 20; ++more) {
            const group::CallId guess{id.origin, id.number + more};
            (void)liar_.call(group::cancel_message, at(2), joined_.group, guess, 1s).wait();
        }
    }
    all_.run_for(100ms);
    EXPECT_EQ(all_[2].waiting, 1);
    all_.run_for(6s);
    EXPECT_EQ(out->code(), Errc::timed_out);
}

TEST_F(LyingMember, one_that_always_wants_to_know_more_is_asked_three_times) {
    int asked = 0;
    expect_protocol_error([&asked](const TreeRequest&) {
        ++asked;
        TreeAnswer more;
        more.answered = group::Answered::unknown;
        more.unknown = {1, 2, 3};
        return more;
    });
    EXPECT_EQ(asked, 3);
}

// It has rejoined, and its caller has not heard of that.
TEST_F(LyingMember, one_in_its_next_life_is_called_anew_once_and_the_user_sees_only_its_answer) {
    std::vector<std::uint32_t> lives;
    lie_ = [&lives, this](const TreeRequest& request) {
        lives.push_back(request.incarnation);
        TreeAnswer answer;
        if (request.incarnation == joined_.incarnation) {
            answer.answered = group::Answered::misrouted;
            answer.claims.push_back(
                Claim{joined_.rank, joined_.incarnation + 1, 0, State::alive, 4242, group::no_rank, {}});
            return answer;
        }
        answer.count = 1;
        answer.parts.push_back({joined_.rank, {}});
        (void)group::detail::encode_into(answer.parts[0].bytes, std::uint64_t{77});
        return answer;
    };
    const auto got = sync_wait(all_[0].group->call(give_rank, joined_.rank, 1, ten_seconds));
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ(*got, 77u);
    EXPECT_EQ(lives, (std::vector<std::uint32_t>{joined_.incarnation, joined_.incarnation + 1}));
    const group::View view = all_[0].group->view();
    EXPECT_EQ(view.find(joined_.rank)->incarnation, joined_.incarnation + 1);
}

// As one that cannot believe who has the rank of a member below it. It is the second of the chain 4, 5, 0, 1, 2.
TEST_F(LyingMember, one_that_knows_too_little_of_those_below_it_still_runs_its_own_part) {
    for (const Rank rank : {3u, 4u})
        ASSERT_TRUE(sync_wait(with_deadline(all_[rank].group->wait_for_members(members + 1), 10s)).ok());
    int asked = 0;
    lie_ = [&asked, this](const TreeRequest& request) {
        ++asked;
        TreeAnswer answer;
        if (request.below.empty()) {
            answer.count = 1;
            answer.parts.push_back({joined_.rank, {}});
            (void)group::detail::encode_into(answer.parts[0].bytes, std::uint64_t{77});
            return answer;
        }
        answer.answered = group::Answered::unknown;
        answer.unknown = {1};
        return answer;
    };
    const CollectiveOptions chain{.deadline = 5s, .tree = group::Tree::chain};
    const auto gathered = sync_wait(all_[3].group->gather(give_rank, 1, chain)).value();
    EXPECT_TRUE(gathered.failures.empty());
    ASSERT_EQ(gathered.values.size(), members + 1);
    EXPECT_EQ(gathered.values.back(), std::pair(joined_.rank, std::uint64_t{77}));
    EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace cinnabar::test
