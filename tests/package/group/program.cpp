// SPDX-License-Identifier: BSD-3-Clause
// A group of two members, built against the installed tree: the second joins by the first, and one call reaches both.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <cstdio>

inline constexpr cinnabar::Rpc<int()> one{"one"};

int main() {
    using cinnabar::group::Group;
    auto first = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    auto second = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    const Group group = Group::create(first).value();
    const Group other = cinnabar::sync_wait(Group::join(second, {first.address()})).value();
    for (const Group* member : {&group, &other})
        member
            ->serve(
                one, [] { return 1; }, cinnabar::group::plus)
            .value();
    const auto sum = cinnabar::sync_wait(group.reduce(one, cinnabar::group::plus)).value();
    std::printf("%d members answered\n", sum.value.value_or(0));
    other.leave();
    return sum.all() && sum.value == 2 ? 0 : 1;
}
