// SPDX-License-Identifier: BSD-3-Clause
// Random comings and goings from one seed, in a group whose ranks are given again: members die, leave, join, and are
// cut off until their ranks are given away, while calls are in progress. No process executes a call that meant another
// holder of its rank, and the views agree in the end.
#include "sim_group.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <map>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Gathered;
using group::Group;
using group::Rank;
using group::Tree;

constexpr Rpc<std::uint64_t()> give_process{"test.give_process"};

struct Question {
    std::map<Rank, std::uint64_t> meant;  // the process that the caller knew under each rank
    bool ended = false;
    std::optional<Gathered<std::uint64_t>> gathered;
};

Task<void> ask_all(Group group, CollectiveOptions options, Question& out) {
    const group::View view = group.view();
    for (const Rank rank : view.present()) out.meant[rank] = view.find(rank)->process;
    auto task = group.gather(give_process, options);
    auto result = co_await task;
    if (result.ok()) out.gathered = *std::move(result);
    out.ended = true;
}

void check_question(const Question& question) {
    EXPECT_TRUE(question.ended) << "no call waits for ever";
    if (!question.gathered) return;
    EXPECT_EQ(question.gathered->values.size() + question.gathered->failures.size(), question.meant.size());
    for (const auto& [rank, process] : question.gathered->values)
        EXPECT_EQ(process, question.meant.at(rank)) << "another process executed it: rank " << rank;
}

class Churn {
  public:
    explicit Churn(std::uint64_t seed) : random_(seed), group_(5 + seed % 4, seed, {.late_one_in = 30}, 4s) {
        for (std::size_t i = 0; i < group_.size(); ++i) serve_process(group_[i]);
    }
    void run() {
        for (int step = 0; step < 10; ++step) {
            ask();
            disturb();
            group_.run_for(Microseconds(random_.below(3'000'000)));
        }
        group_.heal();
        group_.run_for(8s);
        for (const auto& question : questions_) {
            if (question) check_question(*question);
        }
        group_.calm();
        EXPECT_TRUE(settle()) << "views converge after the last change";
    }

  private:
    static constexpr std::size_t members_most = 16;
    static constexpr std::size_t members_least = 3;

    // The first member is never disturbed, and assigns all ranks: where two parts of a cut group assign ranks, both may
    // give the same one away.
    [[nodiscard]] SimMember& first() { return group_[0]; }
    // Any other that takes part; the first if there is none.
    [[nodiscard]] SimMember& another() {
        for (std::size_t tried = 0; tried < 4 * group_.size(); ++tried) {
            SimMember& member = group_[random_.below(group_.size())];
            if (&member != &first() && !member.dead && !SimGroup::ended(member)) return member;
        }
        return first();
    }
    void serve_process(const SimMember& member) {
        const std::uint64_t process = member.group->view().find(member.group->rank())->process;
        member.group->serve(give_process, [process] { return process; }).value();
    }
    void ask() {
        SimMember& origin = random_.chance(3) ? first() : another();
        CollectiveOptions options;
        options.deadline = Microseconds(10'000 + random_.below(5'000'000));
        options.tree = static_cast<Tree>(random_.below(5));
        options.fanout = static_cast<unsigned>(2 + random_.below(3));
        questions_.push_back(std::make_unique<Question>());
        owners_.push_back(&origin);
        (void)origin.node->spawn(ask_all(*origin.group, options, *questions_.back()));
    }
    void disturb() {
        SimMember& victim = another();
        const bool may_go = &victim != &first() && group_.alive() > members_least;
        switch (random_.below(6)) {
            case 0:
                if (!may_go) return;
                group_.kill(victim);
                for (std::size_t i = 0; i < owners_.size(); ++i) {
                    if (owners_[i] == &victim) questions_[i].reset();  // its caller is dead, so there is no outcome
                }
                return;
            case 1:
                if (may_go) group_.leave(victim);
                return;
            case 2:
            case 3:
                if (group_.size() < members_most) serve_process(group_.add_through(first()));
                return;
            case 4:
                for (std::size_t i = 0; may_go && i < group_.size(); ++i) {
                    if (&group_[i] != &victim) group_.partition(group_[i], victim);
                }
                return;
            default:
                group_.heal();
        }
    }
    // Members whose ranks were given away join anew.
    [[nodiscard]] bool settle() {
        for (int round = 0; round < 10; ++round) {
            for (std::size_t i = 1; i < group_.size(); ++i) {
                SimMember& member = group_[i];
                if (!member.dead && SimGroup::ended(member)) group_.join_again(member, first());
            }
            if (group_.converge(30s)) return true;
        }
        return false;
    }

    Random random_;
    SimGroup group_;
    std::vector<std::unique_ptr<Question>> questions_;
    std::vector<SimMember*> owners_;
};

TEST(reuse_storm, no_call_is_executed_by_another_holder_of_a_rank) {
    for_each_seed([](std::uint64_t seed) { Churn(seed).run(); }, 6, 12);
}

}  // namespace
}  // namespace cinnabar::test
