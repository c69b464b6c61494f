// SPDX-License-Identifier: BSD-3-Clause
// A group of five members and a client, on the simulated network: a sum over all members, the death of one of them, and
// how the others notice it.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
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

inline constexpr cinnabar::Rpc<int()> count_files{"count_files"};

struct Member {
    Node node;
    Group group;
};

// Each member has ten files more than the one before.
Member serve(Node node, Group group) {
    const int files = 10 * static_cast<int>(group.rank() + 1);
    group
        .serve(
            count_files, [files] { return files; }, cinnabar::group::plus)
        .value();
    return {std::move(node), std::move(group)};
}

void print_sum(const Group& client) {
    const auto sum = sync_wait(client.reduce(count_files, cinnabar::group::plus)).value();
    std::cout << sum.count << " members have " << sum.value.value_or(0) << " files";
    for (const auto& failure : sum.failures)
        std::cout << "; " << failure.rank << ": " << cinnabar::to_string(failure.code);
    std::cout << '\n';
}

int main() {
    auto world = cinnabar::sim::World::numbered(14, {.seed = 14});
    GroupOptions options;
    options.seed = 14;
    const std::vector<std::string> seeds{"sim://host0", "sim://host1"};

    std::vector<std::unique_ptr<Member>> members;
    for (int i = 0; i < 5; ++i) {
        Node node = Node::listen("sim://host" + std::to_string(i) + "?world=14").value();
        options.seed = 14 + static_cast<unsigned>(i);
        Group group =
            i == 0 ? Group::create(node, options).value() : sync_wait(Group::join(node, seeds, options)).value();
        members.push_back(std::make_unique<Member>(serve(std::move(node), std::move(group))));
    }
    Node node = Node::open("sim://client?world=14").value();
    options.seed = 100;
    Group client = sync_wait(Group::follow(node, seeds, options)).value();
    print_sum(client);

    auto events = client.events();
    world->kill("host3");  // its process dies ...
    members[3].reset();
    print_sum(client);  // ... and nobody has noticed yet
    for (;;) {
        const auto event = sync_wait(events.next()).value();
        if (event.happened != cinnabar::group::Happened::excluded) continue;
        std::cout << "member " << event.rank << " is dead\n";
        break;
    }
    print_sum(client);
}
