// SPDX-License-Identifier: BSD-3-Clause
// A member of a group as a process: joins through the seed in its first argument, listens at its second argument, and
// exits when its standard input ends.
#include "processes.hpp"

#include <iostream>
#include <string>

using namespace cinnabar;

int main(int, char** argv) {
    Node node = Node::listen(argv[2]).value();
    const std::vector<std::string> seeds{argv[1]};
    auto joined = sync_wait(group::Group::join(node, seeds, test::quick_group()));
    if (!joined) {
        std::cerr << joined.error().message() << '\n';
        return 1;
    }
    test::serve_late(node, *joined, [] {});
    test::serve_words(node, *joined, [] {});
    for (std::string line; std::getline(std::cin, line);) {
    }
    joined->leave();
}
