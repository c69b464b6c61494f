// SPDX-License-Identifier: BSD-3-Clause
// The standard output of a shell command.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace cinnabar::support {

// Waits until the command has ended. Empty if there is no shell.
[[nodiscard]] inline std::string output_of(const std::string& command) {
    std::string output;
    std::array<char, 4096> part{};
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
    while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) output += part.data();
    return output;
}

}  // namespace cinnabar::support
