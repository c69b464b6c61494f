// SPDX-License-Identifier: BSD-3-Clause
#include "sim_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t next_world() {
    static std::uint64_t number = 30'000;
    return ++number;
}

}  // namespace

SimGroup::SimGroup(std::size_t members, std::uint64_t seed, sim::WorldOptions weather, Microseconds reuse_ranks_after)
    : number_(next_world()), seed_(seed), reuse_ranks_after_(reuse_ranks_after) {
    weather.seed = seed;
    sim::WorldOptions calm;
    calm.seed = seed;
    calm.profile = weather.profile;
    world_ = sim::World::numbered(number_, calm);
    auto first = open(true);
    first->group.emplace(group::Group::create(*first->node, options()).value());
    serve(*first);
    members_.push_back(std::move(first));
    while (members_.size() < members) (void)add();
    EXPECT_TRUE(converge(60s));
    world_->set_options(weather);
}

SimGroup::~SimGroup() {
    for (const auto& member : members_) {
        member->group.reset();
        member->node.reset();
    }
}

std::string SimGroup::uri(const std::string& host) const {
    return "sim://" + host + "?world=" + std::to_string(number_);
}

std::unique_ptr<SimMember> SimGroup::open(bool listens) {
    auto member = std::make_unique<SimMember>();
    member->host = "m" + std::to_string(made_++);
    const std::string address = uri(member->host);
    member->node = std::make_unique<Node>((listens ? Node::listen(address) : Node::open(address)).value());
    return member;
}

group::GroupOptions SimGroup::options() {
    group::GroupOptions options;
    options.seed = seed_ * 1000 + made_ + 1;
    options.swim.period = 100ms;
    options.swim.suspicion_min = 3;
    options.swim.suspicion_spread = 2;
    options.swim.members_max = members_max;
    options.swim.reuse_ranks_after = reuse_ranks_after_;
    options.calls_max = calls_max;
    options.variables.copy_max = copy_max;
    options.variables.keys_max = keys_max;
    return options;
}

std::vector<std::string> SimGroup::seeds() const {
    std::vector<std::string> all;
    for (const auto& member : members_) {
        if (!member->dead && !ended(*member)) all.push_back("sim://" + member->host);
    }
    return all;
}

void SimGroup::serve(SimMember& member) {
    SimMember* self = &member;
    const auto give = [self](const group::CallInfo& info, std::uint64_t factor) {
        ++self->runs[{info.origin, info.number}];
        return factor * (info.self + 1);
    };
    member.group->serve(give_rank, give, group::plus).value();
    member.group->serve(note, [self](const std::string& text) { self->notes.push_back(text); }).value();
    const auto fails = [self](int rank) -> Result<int> {
        if (static_cast<int>(self->group->rank()) == rank) return app_error(7, "as asked");
        return rank;
    };
    member.group->serve(fail_on, fails).value();
    const auto waits = [self]() -> Task<Result<int>> {
        ++self->waiting;
        const Errc slept = co_await self->node->sleep_for(1h);
        --self->waiting;
        co_return slept == Errc::ok ? Errc::timed_out : slept;
    };
    member.group->serve(wait_long, waits).value();
}

SimMember& SimGroup::add() { return add_by(seeds()); }

SimMember& SimGroup::add_through(const SimMember& seed) { return add_by({"sim://" + seed.host}); }

SimMember& SimGroup::add_by(const std::vector<std::string>& seeds) {
    auto member = open(true);
    auto joined = sync_wait(group::Group::join(*member->node, seeds, options()));
    EXPECT_TRUE(joined.ok()) << joined.error().message();
    member->group.emplace(*std::move(joined));
    serve(*member);
    members_.push_back(std::move(member));
    return *members_.back();
}

std::unique_ptr<SimMember> SimGroup::client() {
    auto member = open(false);
    auto followed = sync_wait(group::Group::follow(*member->node, seeds(), options()));
    EXPECT_TRUE(followed.ok()) << followed.error().message();
    member->group.emplace(*std::move(followed));
    return member;
}

void SimGroup::kill(SimMember& member) {
    member.dead = true;
    world_->kill(member.host);
    member.group.reset();
    member.node.reset();
}

void SimGroup::leave(SimMember& member) {
    member.dead = true;
    member.group->leave();
}

// A group that has ended refuses everything with `closed`.
bool SimGroup::ended(const SimMember& member) {
    return member.group && member.group->exclude(group::no_rank).code() == Errc::closed;
}

void SimGroup::join_again(SimMember& member, const SimMember& seed) {
    member.group.reset();
    ++made_;  // options() gives each member a seed of its own
    const std::vector<std::string> seeds{"sim://" + seed.host};
    auto joined = sync_wait(group::Group::join(*member.node, seeds, options()));
    EXPECT_TRUE(joined.ok()) << joined.error().message();
    member.group.emplace(*std::move(joined));
    serve(member);
}

void SimGroup::run_for(Microseconds span) {
    for (const auto& member : members_) {
        if (member->dead) continue;
        (void)member->node->run_for(span);
        return;
    }
}

bool SimGroup::converge(Microseconds span) {
    const TimeUs end = world_->now_us() + static_cast<TimeUs>(span.count());
    for (;;) {
        bool equal = true;
        const SimMember* first = nullptr;
        for (const auto& member : members_) {
            if (member->dead) continue;
            if (!first) first = member.get();
            const group::View view = member->group->view();
            equal = equal && view.stamp() == first->group->view().stamp() && view.present().size() == alive();
        }
        if (equal) return true;
        if (world_->now_us() >= end) return false;
        run_for(50ms);
    }
}

std::size_t SimGroup::alive() const {
    return static_cast<std::size_t>(
        std::count_if(members_.begin(), members_.end(), [](const auto& member) { return !member->dead; }));
}

}  // namespace cinnabar::test
