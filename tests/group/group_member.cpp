// SPDX-License-Identifier: BSD-3-Clause
// A member of a group as a process: joins through the seed in its first argument, listens at its second argument, and
// exits when its standard input ends. With a third argument it becomes that many members, each a forked process.
#include "processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace cinnabar;

namespace {

int take_part(const std::string& seed, const std::string& listen, const NodeOptions& options,
              const group::GroupOptions& with, bool leaves) {
    Node node = Node::listen(listen, options).value();
    const std::vector<std::string> seeds{seed};
    auto joined = sync_wait(group::Group::join(node, seeds, with));
    if (!joined) {
        std::cerr << joined.error().message() << '\n';
        return 1;
    }
    test::serve_words(node, *joined, [] {});
    test::serve_late(node, *joined, [] {});
    for (std::string line; std::getline(std::cin, line);) {
    }
    if (leaves) joined->leave();
    return 0;
}

// This process has no thread yet, so its children may do anything. They share the pages of the program, and have one
// thread and one connection to each other less than a member by default. They end without telling each other, since
// all of them end at once.
int take_part_as_many(const std::string& seed, const std::string& listen, unsigned long count) {
    for (unsigned long i = 0; i < count; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            NodeOptions options;
            options.timed_one_in = 0;
            return take_part(seed, listen, options, test::quick_group_of_many(), false);
        }
        if (child < 0) {
            std::cerr << "cannot fork member " << i << ": " << std::strerror(errno) << '\n';
            break;
        }
    }
    while (::wait(nullptr) > 0 || errno == EINTR) {
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 3) return take_part_as_many(argv[1], argv[2], std::strtoul(argv[3], nullptr, 10));
    return take_part(argv[1], argv[2], {}, test::quick_group(), true);
}
