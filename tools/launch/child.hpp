// SPDX-License-Identifier: BSD-3-Clause
// Starts a child process in its own process group. It is terminated when this process ends.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::launch {

struct Child {
    int pid = -1;
    UniqueFd in;  // write end of its stdin; empty: it has no input
    UniqueFd out;
    UniqueFd err;
};

struct ChildOptions {
    std::vector<std::string> words;      // the program, looked up in PATH, and its arguments
    std::vector<std::string> variables;  // "NAME=value", in addition to those of this process
    bool takes_input = false;
    // capture its output in `out` and `err`, which are non-blocking; otherwise it inherits this process's
    bool gives_output = false;
    std::optional<rlimit> descriptors = {};  // its limit of open files; empty: that of this process
};
// not_found, permission: the program cannot be started; overloaded: too many processes or descriptors.
[[nodiscard]] Result<Child> start(const ChildOptions& options);

}  // namespace cinnabar::tools::launch
