// SPDX-License-Identifier: BSD-3-Clause
// Starts a process in a process group of its own, which ends with this one.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools::launch {

struct Child {
    int pid = -1;
    UniqueFd in;  // what is written there it reads; without it it has no input
    UniqueFd out;
    UniqueFd err;
};

struct ChildOptions {
    std::vector<std::string> words;      // the program, looked for in PATH, and its arguments
    std::vector<std::string> variables;  // "NAME=value", beside those of this process
    bool takes_input = false;
    bool gives_output = false;  // by `out` and `err`, which do not block; otherwise it writes where this process does
};
// not_found, permission: the program cannot be started; overloaded: too many processes or descriptors.
[[nodiscard]] Result<Child> start(const ChildOptions& options);

}  // namespace cinnabar::tools::launch
