// SPDX-License-Identifier: BSD-3-Clause
// Many members of a roster that start at almost the same time, on the simulated network: they find each other without
// flooding any of them with connections. CINNABAR_GROUP_MEMBERS=1000 tries as many.
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t next_start_world() {
    static std::uint64_t number = 29'000;
    return ++number;
}

class StartingMembers {
  public:
    explicit StartingMembers(std::size_t members) : before_(members) {
        for (std::size_t i = 0; i < members; ++i) roster_.addresses.push_back("sim://" + host(i));
    }

    // Starts one after the other in `span`, the later ranks first.
    void start_all(Microseconds span) {
        const auto members = roster_.addresses.size();
        for (std::size_t i = members; i-- > 0;) {
            auto started = std::make_unique<Started>();
            const std::string address = "sim://" + host(i) + "?world=" + std::to_string(number_);
            started->node = std::make_unique<Node>(Node::listen(address).value());
            roster_.self = static_cast<group::Rank>(i);
            group::GroupOptions options;
            options.seed = 100 + i;
            started->group.emplace(group::Group::start(*started->node, roster_, options).value());
            started_.push_back(std::move(started));
            run_for(span / static_cast<std::int64_t>(members));
        }
    }
    void run_for(Microseconds span) { (void)started_.front()->node->run_for(span); }

    // By how many connections that member has grown for which these are most, since the last look.
    std::uint32_t most_new_connections() {
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < before_.size(); ++i) {
            const std::uint32_t now = world_->counts(host(i)).connections;
            most = std::max(most, now - std::min(now, before_[i]));
            before_[i] = now;
        }
        return most;
    }
    [[nodiscard]] std::uint32_t most_connections() const {
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < before_.size(); ++i) most = std::max(most, world_->counts(host(i)).connections);
        return most;
    }
    [[nodiscard]] bool agree() const {
        const group::Stamp stamp = started_.front()->group->view().stamp();
        return std::all_of(started_.begin(), started_.end(), [&](const auto& each) {
            const group::View view = each->group->view();
            return view.stamp() == stamp && view.present().size() == roster_.addresses.size();
        });
    }

  private:
    struct Started {
        std::unique_ptr<Node> node;
        std::optional<group::Group> group;
    };
    static std::string host(std::size_t index) { return "start" + std::to_string(index); }

    const std::uint64_t number_ = next_start_world();
    std::shared_ptr<sim::World> world_ = sim::World::numbered(number_, {.seed = 1});
    group::Roster roster_;
    std::vector<std::uint32_t> before_;
    std::vector<std::unique_ptr<Started>> started_;
};

TEST(group_start, members_that_start_within_50_ms_find_each_other_without_flooding_anyone) {
    const std::size_t members = number_from_environment("CINNABAR_GROUP_MEMBERS", support::sanitized ? 50u : 120u);
    StartingMembers all(members);
    all.start_all(50ms);
    (void)all.most_new_connections();
    std::uint32_t most_at_a_time = 0;
    for (int step = 0; step < 190; ++step) {
        all.run_for(5ms);
        most_at_a_time = std::max(most_at_a_time, all.most_new_connections());
    }
    EXPECT_LE(most_at_a_time, 16u) << "connections that one member got in 5 ms";
    const std::uint32_t most = all.most_connections();
    EXPECT_GE(most, 1u);
    EXPECT_LE(most, 64u) << "connections of the busiest member after a second, of " << members;
    for (int second = 1; second < 5 && !all.agree(); ++second) all.run_for(1s);
    EXPECT_TRUE(all.agree()) << "a common view after five seconds";
}

// Each probes another member in each second, and is probed by one: after 40 s, each would be connected to all others in
// both directions. CINNABAR_GROUP_MEMBERS=90 takes longer.
TEST(group_start, members_of_a_large_group_keep_few_connections_however_long_they_live) {
    const std::size_t members = number_from_environment("CINNABAR_GROUP_MEMBERS", 40);
    StartingMembers all(members);
    all.start_all(50ms);
    std::uint32_t most = 0;
    for (std::size_t second = 0; second < members + 10; second += 5) {
        all.run_for(5s);
        most = std::max(most, all.most_connections());
    }
    EXPECT_LE(most, 64u);
    EXPECT_TRUE(all.agree()) << "nobody was taken for dead";
}

}  // namespace
}  // namespace cinnabar::test
