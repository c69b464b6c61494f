// SPDX-License-Identifier: BSD-3-Clause
// Processes that begin a group together, and processes that join one at the same moment, on the simulated network: what
// that costs, and what happens to those that come late, die meanwhile, or are started again.
#include "support/sanitizers.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Announcement;
using group::Group;
using group::Rank;

constexpr Rpc<int()> one{"together.one"};
#ifdef CINNABAR_FULL_TESTS
constexpr std::size_t many = support::sanitized ? 60 : 200;
#else
constexpr std::size_t many = support::sanitized ? 60 : 90;
#endif

std::uint64_t next_together_world() {
    static std::uint64_t number = 39'000;
    return ++number;
}

class Together {
  public:
    struct Process {
        std::unique_ptr<Node> node;
        std::optional<Announcement> announcement;
        std::optional<Group> group;
        std::uint64_t announced = 0;  // how often
    };

    explicit Together(std::size_t processes) : processes_(processes) {
        for (std::size_t i = 0; i < processes; ++i) open(i);
    }
    ~Together() {
        for (Process& each : processes_) {
            each.group.reset();
            each.announcement.reset();
        }
    }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

    // Also for one that was killed.
    void open(std::size_t i) {
        const std::string address = uri(i) + "?world=" + std::to_string(number_);
        processes_[i].node = std::make_unique<Node>(Node::listen(address).value());
    }
    void announce(std::size_t i) {
        group::GroupOptions of = options(i);
        of.seed += 1000 * processes_[i].announced++;
        processes_[i].announcement.emplace(Announcement::make(*processes_[i].node, of).value());
    }
    std::vector<std::string> announce_all() {
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            announce(i);
            lines.push_back(processes_[i].announcement->line());
        }
        return lines;
    }
    void start(std::size_t i, const std::vector<std::string>& lines) {
        processes_[i].group.emplace(std::move(*processes_[i].announcement).start(lines, static_cast<Rank>(i)).value());
    }
    void create(std::size_t i) { processes_[i].group.emplace(Group::create(*processes_[i].node, options(i)).value()); }
    // Begins to join by the first process.
    void join(std::size_t i) {
        const auto joining = [](Process& process, std::string seed, group::GroupOptions options) -> Task<void> {
            std::vector<std::string> seeds{std::move(seed)};
            auto trying = Group::join(*process.node, std::move(seeds), std::move(options));
            Result<Group> joined = co_await trying;
            EXPECT_TRUE(joined.ok()) << joined.error().message();
            if (joined) process.group.emplace(*std::move(joined));
        };
        EXPECT_EQ(processes_[i].node->spawn(joining(processes_[i], uri(0), options(i))), Errc::ok);
    }
    // Calls `one` at the member `to`; `answer` must outlive the call.
    void ask(std::size_t from, Rank to, std::optional<Result<int>>& answer) {
        const auto asking = [](Group& group, Rank rank, std::optional<Result<int>>& out) -> Task<void> {
            auto call = group.call(one, rank, {.deadline = 30s});
            out.emplace(co_await call);
        };
        EXPECT_EQ(processes_[from].node->spawn(asking(*processes_[from].group, to, answer)), Errc::ok);
    }
    void kill(std::size_t i) {
        world_->kill("t" + std::to_string(i));
        processes_[i].group.reset();
        processes_[i].announcement.reset();
        processes_[i].node.reset();
    }
    void run_for(Microseconds span) {
        // Nothing may be due for the whole span: then the clock moves on before the nodes look at what was posted.
        (void)processes_.front().node->run_for(1us);
        (void)processes_.front().node->run_for(span);
    }

    [[nodiscard]] std::uint32_t connections(std::size_t i) const {
        return world_->counts("t" + std::to_string(i)).connections;
    }
    [[nodiscard]] std::uint32_t most_connections() const {
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < processes_.size(); ++i) most = std::max(most, connections(i));
        return most;
    }
    // Whether all that live have the same view, with so many members.
    [[nodiscard]] bool agree(std::size_t members) const {
        const group::Stamp stamp = processes_.front().group->view().stamp();
        return std::all_of(processes_.begin(), processes_.end(), [&](const Process& each) {
            if (!each.node) return true;
            if (!each.group) return false;
            const group::View view = each.group->view();
            return view.stamp() == stamp && view.present().size() == members;
        });
    }
    [[nodiscard]] bool agree_within(std::size_t members, Microseconds span) {
        for (; span.count() > 0 && !agree(members); span -= 100ms) run_for(100ms);
        return agree(members);
    }
    [[nodiscard]] Process& operator[](std::size_t i) { return processes_[i]; }

  private:
    static std::string uri(std::size_t i) { return "sim://t" + std::to_string(i); }
    static group::GroupOptions options(std::size_t i) {
        group::GroupOptions options;
        options.seed = 500 + i;
        return options;
    }

    const std::uint64_t number_ = next_together_world();
    std::shared_ptr<sim::World> world_ = sim::World::numbered(number_, {.seed = 1});
    std::vector<Process> processes_;
};

TEST(together, a_group_that_begins_with_all_lines_is_complete_without_a_message) {
    Together all(many);
    const std::vector<std::string> lines = all.announce_all();
    EXPECT_LT(lines.back().size(), 400u);
    for (std::size_t i = 0; i < many; ++i) all.start(i, lines);
    EXPECT_TRUE(all.agree(many));
    all.run_for(900ms);
    EXPECT_EQ(all.most_connections(), 0u) << "nobody looks for the others, or probes them while they start";
    all.run_for(10s);
    EXPECT_TRUE(all.agree(many));
    EXPECT_GE(all.most_connections(), 1u) << "then they probe each other";
    EXPECT_LE(all.most_connections(), 64u);
}

TEST(together, calls_wait_for_members_that_have_not_begun_and_for_programs_that_do_not_serve_yet) {
    Together all(12);
    const std::vector<std::string> lines = all.announce_all();
    all.start(0, lines);
    all[0]
        .group
        ->serve(
            one, [] { return 1; }, group::plus)
        .value();
    std::optional<Result<group::Reduced<int>>> sum;
    const auto summing = [&]() -> Task<void> {
        auto asking = all[0].group->reduce(one, group::plus, {.deadline = 30s});
        sum.emplace(co_await asking);
    };
    ASSERT_EQ(all[0].node->spawn(summing()), Errc::ok);
    all.run_for(200ms);
    for (std::size_t i = 1; i < 12; ++i) all.start(i, lines);
    all.run_for(200ms);
    EXPECT_FALSE(sum);
    for (std::size_t i = 1; i < 12; ++i)
        all[i]
            .group
            ->serve(
                one, [] { return 1; }, group::plus)
            .value();
    all.run_for(200ms);
    ASSERT_TRUE(sum && sum->ok());
    EXPECT_EQ((*sum)->value, 12);
    EXPECT_TRUE((*sum)->all());
}

TEST(together, a_call_that_no_program_serves_fails_in_the_end) {
    Together all(2);
    const std::vector<std::string> lines = all.announce_all();
    for (std::size_t i = 0; i < 2; ++i) all.start(i, lines);
    std::optional<Result<int>> answer;
    all.ask(0, 1, answer);
    all.run_for(4s);
    EXPECT_FALSE(answer);
    all.run_for(2s);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::no_such_rpc);
}

// The members below it in the tree are called by its caller in its place.
TEST(together, one_that_never_begins_and_one_that_never_serves_fail_alone) {
    for (const bool begins : {false, true}) {
        Together all(12);
        const std::vector<std::string> lines = all.announce_all();
        for (std::size_t i = 0; i < 12; ++i) {
            if (i == 1 && !begins) continue;
            all.start(i, lines);
            if (i == 1) continue;
            all[i]
                .group
                ->serve(
                    one, [] { return 1; }, group::plus)
                .value();
        }
        std::optional<Result<group::Reduced<int>>> sum;
        const auto summing = [&]() -> Task<void> {
            auto asking = all[0].group->reduce(one, group::plus, {.deadline = 3s, .tree = group::Tree::chain});
            sum.emplace(co_await asking);
        };
        ASSERT_EQ(all[0].node->spawn(summing()), Errc::ok);
        all.run_for(4s);
        ASSERT_TRUE(sum && sum->ok()) << begins;
        EXPECT_EQ((*sum)->value, 11) << begins;
        ASSERT_EQ((*sum)->failures.size(), 1u) << begins;
        EXPECT_EQ((*sum)->failures.front().rank, 1u) << begins;
    }
}

TEST(together, a_call_that_is_canceled_while_it_waits_runs_nowhere) {
    Together all(3);
    const std::vector<std::string> lines = all.announce_all();
    for (std::size_t i = 0; i < 3; ++i) all.start(i, lines);
    int ran = 0;
    const auto count = [&ran] { return ++ran; };
    all[2].group->serve(one, count).value();
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    const std::vector<Rank> both{1, 2};
    std::optional<Result<group::Reached>> ended;
    const auto asking = [&]() -> Task<void> {
        auto call =
            all[0].group->broadcast(one, {.deadline = 30s, .stop = &token, .only = both, .tree = group::Tree::chain});
        ended.emplace(co_await call);
    };
    ASSERT_EQ(all[0].node->spawn(asking()), Errc::ok);
    all.run_for(100ms);
    stop.request_stop();
    all.run_for(2s);
    EXPECT_TRUE(ended);
    EXPECT_EQ(ran, 0);
    all[1].group->serve(one, count).value();
    all.run_for(2s);
    EXPECT_EQ(ran, 0);
}

// A member of the first group, which has not heard that another one has left, calls it when it has begun a second one.
TEST(together, a_second_group_of_the_same_nodes_runs_no_call_of_the_first) {
    Together all(2);
    const std::vector<std::string> lines = all.announce_all();
    for (std::size_t i = 0; i < 2; ++i) all.start(i, lines);
    all[0].group.reset();
    all[0].announcement.reset();
    all.announce(0);
    const std::vector<std::string> next{all[0].announcement->line(), lines[1]};
    ASSERT_NE(next[0], lines[0]);
    std::optional<Result<int>> answer;
    all.ask(1, 0, answer);
    all.run_for(100ms);
    EXPECT_FALSE(answer) << "it waits for the second group";
    all.start(0, next);
    int ran = 0;
    all[0].group->serve(one, [&ran] { return ++ran; }).value();
    all.run_for(1s);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::peer_lost);
    EXPECT_EQ(ran, 0);
}

TEST(together, an_announcement_begins_once_and_what_waits_for_one_that_is_dropped_fails) {
    Together all(2);
    const std::vector<std::string> lines = all.announce_all();
    all.start(0, lines);
    EXPECT_EQ(std::move(*all[0].announcement).start(lines, 0).code(), Errc::exists);
    std::optional<Result<int>> answer;
    all.ask(0, 1, answer);
    all.run_for(100ms);
    EXPECT_FALSE(answer);
    all[1].announcement.reset();
    all.run_for(100ms);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::peer_lost);
}

// A member that left before those below it had been released would leave them to those above it, and in the end to the
// first.
TEST(together, members_that_leave_right_after_a_barrier_leave_no_work_to_the_first) {
    const std::size_t members = std::max<std::size_t>(many, 100);
    Together all(members);
    const std::vector<std::string> lines = all.announce_all();
    for (std::size_t i = 0; i < members; ++i) all.start(i, lines);
    std::size_t passed = 0;
    const auto pass = [&](std::size_t i) -> Task<void> {
        auto passing = all[i].group->barrier("end", {.deadline = 60s});
        const Result<group::Reached> reached = co_await passing;
        if (reached && reached->all() && reached->count == members) ++passed;
        all[i].group->leave();
    };
    for (std::size_t i = 0; i < members; ++i) ASSERT_EQ(all[i].node->spawn(pass(i)), Errc::ok);
    std::uint32_t most = 0;
    for (int step = 0; step < 1000 && passed < members; ++step) {
        all.run_for(1ms);
        most = std::max(most, all.connections(0));
    }
    EXPECT_EQ(passed, members);
    EXPECT_LE(most, 48u);
}

TEST(together, one_that_died_before_it_began_is_found) {
    Together all(5);
    const std::vector<std::string> lines = all.announce_all();
    all.kill(3);
    for (const std::size_t i : {0u, 1u, 2u, 4u}) all.start(i, lines);
    EXPECT_TRUE(all.agree(5));
    EXPECT_TRUE(all.agree_within(4, 60s));
    EXPECT_EQ(all[0].group->view().find(3)->state, group::State::excluded);
}

TEST(together, one_that_is_started_again_takes_its_rank_in_its_next_life) {
    Together all(4);
    const std::vector<std::string> lines = all.announce_all();
    all.kill(2);
    for (const std::size_t i : {0u, 1u, 3u}) all.start(i, lines);
    all.open(2);
    all.announce(2);
    ASSERT_NE(all[2].announcement->line(), lines[2]);
    all.start(2, lines);
    EXPECT_EQ(all[2].group->rank(), 2u);
    EXPECT_TRUE(all.agree_within(4, 90s));
    EXPECT_GT(all[0].group->view().find(2)->incarnation, 1u);
}

TEST(together, a_line_that_was_damaged_and_a_rank_without_one_are_refused) {
    Together all(2);
    std::vector<std::string> lines = all.announce_all();
    EXPECT_EQ(std::move(*all[0].announcement).start(lines, 2).code(), Errc::invalid_argument);
    lines[1].pop_back();
    EXPECT_EQ(std::move(*all[0].announcement).start(lines, 0).code(), Errc::protocol);
    lines[1] = "sim://t1";
    EXPECT_EQ(std::move(*all[0].announcement).start(lines, 0).code(), Errc::protocol);
}

// Each joins by the first member, and learns of those that join after it from the others.
TEST(together, processes_that_join_within_a_tenth_of_a_second_know_each_other_soon_and_keep_few_connections) {
    Together all(many);
    all.create(0);
    for (std::size_t i = 1; i < many; ++i) {
        all.join(i);
        all.run_for(100'000us / many);
    }
    EXPECT_TRUE(all.agree_within(many, 5s));
    all.run_for(10s);
    EXPECT_TRUE(all.agree(many));
    EXPECT_LE(all.most_connections(), 64u);
}

TEST(together, one_that_joins_alone_is_not_delayed) {
    Together all(3);
    all.create(0);
    all.join(1);
    all.run_for(5ms);
    EXPECT_TRUE(all[1].group);
    all.join(2);
    all.run_for(5ms);
    ASSERT_TRUE(all[2].group);
    EXPECT_EQ(all[2].group->view().present().size(), 3u);
}

}  // namespace
}  // namespace cinnabar::test
