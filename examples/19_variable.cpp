// SPDX-License-Identifier: BSD-3-Clause
// A variable of a group of four members, on the simulated network: one member replaces the variable's value, all
// members see the new value, and the variable outlives the member that holds it.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/variable.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using cinnabar::Node;
using cinnabar::sync_wait;
using cinnabar::group::Group;
using cinnabar::group::GroupOptions;
using cinnabar::group::Variable;

struct Member {
    Node node;
    Group group;
};

std::unique_ptr<Member> start(unsigned number) {
    GroupOptions options;
    options.seed = 19 + number;
    Node node = Node::listen("sim://host" + std::to_string(number) + "?world=19").value();
    Group group = number == 0 ? Group::create(node, options).value()
                              : sync_wait(Group::join(node, {"sim://host0"}, options)).value();
    return std::make_unique<Member>(Member{std::move(node), std::move(group)});
}

int main() {
    auto world = cinnabar::sim::World::numbered(19, {.seed = 19});
    std::vector<std::unique_ptr<Member>> members;
    for (unsigned i = 0; i < 4; ++i) members.push_back(start(i));

    const Variable<int> level(members[1]->group, "log level");
    const auto first = sync_wait(level.update(2)).value();
    std::cout << "version " << first.number << '\n';
    for (const auto& member : members) {
        const Variable<int> same(member->group, "log level");
        std::cout << member->group.rank() << " has " << sync_wait(same.fetch())->value << '\n';
    }

    for (unsigned i = 0; i < 4; ++i) {  // the member that gave the version is the root
        if (members[1]->group.view().find(i)->process != first.by) continue;
        world->kill("host" + std::to_string(i));
        members[i].reset();
    }
    const Variable<int> there(members[0] ? members[0]->group : members[1]->group, "log level");
    const auto second = sync_wait(there.update(5, cinnabar::group::Sync::lazy, {.deadline = 60s})).value();
    std::cout << "version " << second.number << " by another root\n";
}
