// SPDX-License-Identifier: BSD-3-Clause
// Random fetches and updates of variables from one seed, while messages are late, connections break, the network is
// partitioned, and members, often the root, die and join.
#include "sim_group.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/group/variable.hpp>

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Sync;
using group::Variable;
using group::VariableOptions;
using group::Version;

using Number = Variable<std::uint64_t>;

struct Fetched {
    SimMember* member;
    std::string key;
    TimeUs began_us;
    TimeUs ended_us = 0;  // 0: not ended
    Errc code = Errc::ok;
    Version version;
    std::uint64_t value = 0;
};
struct Updated {
    std::string key;
    std::uint64_t value;
    Sync sync;
    TimeUs ended_us = 0;
    Errc code = Errc::ok;
    Version version;
};

constexpr Microseconds longest{3'000'000};

Task<void> fetch(Number variable, NodeRef node, VariableOptions options, Fetched& out) {
    auto fetching = variable.fetch(options);
    const auto got = co_await fetching;
    out.ended_us = node.rpc_context().now_us();
    out.code = got.code();
    if (!got.ok()) co_return;
    out.version = got->version;
    out.value = got->value;
}

Task<void> update(Number variable, NodeRef node, VariableOptions options, Updated& out) {
    auto updating = variable.update(out.value, out.sync, options);
    const auto version = co_await updating;
    out.ended_us = node.rpc_context().now_us();
    out.code = version.code();
    if (version.ok()) out.version = *version;
}

class VariableStorm {
  public:
    explicit VariableStorm(std::uint64_t seed)
        : random_(seed), all_(3 + seed % 8, seed, {.reset_one_in = seed % 3 == 0 ? 60u : 0u, .late_one_in = 30}) {}

    void run() {
        for (int step = 0; step < 25; ++step) {
            for (int i = 0; i < 3; ++i) begin();
            if (random_.chance(2)) disturb();
            all_.run_for(Microseconds(random_.below(300'000)));
        }
        all_.heal();
        all_.calm();
        all_.run_for(longest + 1s);
        EXPECT_TRUE(all_.converge(200s));
        check_that_all_ended();
        check_values();
        check_that_versions_do_not_go_back();
        check_eager_updates();
    }

  private:
    SimMember& some_member() {
        for (;;) {
            SimMember& member = all_[random_.below(all_.size())];
            if (!member.dead) return member;
        }
    }
    void begin() {
        SimMember& member = some_member();
        const std::string key = random_.chance(3) ? "other" : "key";
        const Number variable(*member.group, key);
        const VariableOptions options{.deadline = Microseconds(1000 + random_.below(longest.count()))};
        if (random_.chance(3)) {
            updated_.push_back(std::make_unique<Updated>(
                Updated{key, updated_.size() + 1, static_cast<Sync>(random_.below(3)), 0, Errc::ok, {}}));
            owners_.push_back(&member);
            (void)member.node->spawn(update(variable, *member.node, options, *updated_.back()));
        } else {
            fetched_.push_back(
                std::make_unique<Fetched>(Fetched{&member, key, all_.world().now_us(), 0, Errc::ok, {}, 0}));
            (void)member.node->spawn(fetch(variable, *member.node, options, *fetched_.back()));
        }
    }
    void disturb() {
        const auto what = random_.below(8);
        if (what <= 1 && all_.alive() > 2) {
            all_.kill(some_member());
        } else if (what == 2 && all_.size() < 12) {
            all_.heal();
            if (all_.converge(0s)) (void)all_.add();  // else two members may get the same rank
        } else if (what <= 4) {
            SimMember& a = some_member();
            SimMember& b = some_member();
            if (&a != &b) all_.partition(a, b);
        } else {
            all_.heal();
        }
    }
    void check_that_all_ended() {
        for (const auto& each : fetched_) EXPECT_TRUE(each->ended_us != 0 || each->member->dead) << "every fetch ends";
        for (std::size_t i = 0; i < updated_.size(); ++i)
            EXPECT_TRUE(updated_[i]->ended_us != 0 || owners_[i]->dead) << "every update ends";
    }
    void check_values() {
        std::map<std::pair<std::string, Version>, std::uint64_t> values;
        for (const auto& each : updated_) {
            if (each->ended_us == 0 || each->code != Errc::ok) continue;
            EXPECT_TRUE(values.emplace(std::pair(each->key, each->version), each->value).second)
                << "each update has a version of its own";
        }
        for (const auto& each : fetched_) {
            if (!succeeded(*each)) continue;
            const auto at = values.emplace(std::pair(each->key, each->version), each->value).first;
            EXPECT_EQ(at->second, each->value) << "a version has one value";
        }
    }
    void check_that_versions_do_not_go_back() {
        for (const auto& first : fetched_) {
            for (const auto& second : fetched_) {
                const bool later = second->began_us > first->ended_us;
                if (!succeeded(*first) || !succeeded(*second) || !later) continue;
                if (first->member != second->member || first->key != second->key) continue;
                EXPECT_GE(second->version, first->version) << "of " << first->key;
            }
        }
    }
    void check_eager_updates() {
        for (const auto& update : updated_) {
            if (update->sync != Sync::eager || update->ended_us == 0 || update->code != Errc::ok) continue;
            for (const auto& fetched : fetched_) {
                if (!succeeded(*fetched) || fetched->key != update->key || fetched->began_us <= update->ended_us)
                    continue;
                if (!was_always_a_member(*fetched->member)) continue;
                EXPECT_GE(fetched->version, update->version);
            }
        }
    }
    static bool succeeded(const Fetched& each) { return each.ended_us != 0 && each.code == Errc::ok; }
    // A member that was excluded by mistake and came back may have missed an update.
    static bool was_always_a_member(const SimMember& member) {
        return !member.dead && member.group->view().find(member.group->rank())->incarnation == 1;
    }

    Random random_;
    SimGroup all_;
    std::vector<std::unique_ptr<Fetched>> fetched_;
    std::vector<std::unique_ptr<Updated>> updated_;
    std::vector<SimMember*> owners_;
};

TEST(variable_storm, versions_never_go_back_and_eager_updates_are_seen_by_all) {
    for_each_seed([](std::uint64_t seed) { VariableStorm(seed).run(); }, 6, 12);
}

}  // namespace
}  // namespace cinnabar::test
