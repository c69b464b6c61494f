// SPDX-License-Identifier: BSD-3-Clause
// A group on the simulated network: nodes in one process, driven by the thread of the test.
#pragma once

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::test {

inline constexpr Rpc<std::uint64_t(std::uint64_t)> give_rank{"test.give_rank"};
inline constexpr Rpc<void(std::string)> note{"test.note"};
inline constexpr Rpc<int(int)> fail_on{"test.fail_on"};
inline constexpr Rpc<int()> wait_long{"test.wait_long"};

using RunKey = std::pair<std::uint64_t, std::uint64_t>;  // origin and number of a call

// A simulated process.
struct SimMember {
    std::string host;
    std::unique_ptr<Node> node;
    std::optional<group::Group> group;
    std::map<RunKey, int> runs;  // how often the handler of give_rank has run for each call
    int waiting = 0;             // running handlers of wait_long
    std::vector<std::string> notes;
    bool dead = false;
};

class SimGroup {
  public:
    // The limits of each member, which are low, so that tests reach them.
    static constexpr std::uint32_t members_max = 200;
    static constexpr std::uint32_t calls_max = 64;
    static constexpr Microseconds copy_max{2'000'000};
    static constexpr std::uint32_t keys_max = 64;

    // Makes `members` members that know each other. Groups that exist at the same time must have different world
    // numbers.
    SimGroup(std::size_t members, std::uint64_t seed, sim::WorldOptions weather = {},
             Microseconds reuse_ranks_after = {});
    ~SimGroup();

    [[nodiscard]] SimMember& add();  // joins through a member that is alive
    [[nodiscard]] SimMember& add_through(const SimMember& seed);
    [[nodiscard]] std::unique_ptr<SimMember> client();
    void kill(SimMember& member);
    void leave(SimMember& member);  // its process goes on
    // Whether the part of a living member has ended, because another process has its rank. It may join again.
    [[nodiscard]] static bool ended(const SimMember& member);
    void join_again(SimMember& member, const SimMember& seed);
    void partition(SimMember& a, SimMember& b) { world_->partition(a.host, b.host); }
    // Ends all faults of the network.
    void calm() {
        sim::WorldOptions calm;
        calm.seed = seed_;
        calm.profile = world_->options().profile;
        world_->set_options(calm);
    }
    void heal() { world_->heal_all(); }
    void run_for(Microseconds span);
    // Runs until the views of all living members have the same stamp; false after `span`.
    [[nodiscard]] bool converge(Microseconds span);
    [[nodiscard]] SimMember& operator[](std::size_t index) { return *members_[index]; }
    [[nodiscard]] std::size_t size() const { return members_.size(); }
    [[nodiscard]] std::size_t alive() const;
    [[nodiscard]] sim::World& world() { return *world_; }
    [[nodiscard]] std::string uri(const std::string& host) const;

  private:
    [[nodiscard]] std::unique_ptr<SimMember> open(bool listens);
    void serve(SimMember& member);
    [[nodiscard]] SimMember& add_by(const std::vector<std::string>& seeds);
    [[nodiscard]] group::GroupOptions options();
    [[nodiscard]] std::vector<std::string> seeds() const;

    std::uint64_t number_;
    std::uint64_t seed_;
    Microseconds reuse_ranks_after_;
    std::uint64_t made_ = 0;
    std::shared_ptr<sim::World> world_;
    std::vector<std::unique_ptr<SimMember>> members_;
};

}  // namespace cinnabar::test
