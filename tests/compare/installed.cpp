// SPDX-License-Identifier: BSD-3-Clause
#include "installed.hpp"

#include "support/command_output.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

namespace cinnabar::compare {

void extend_path() {
    const auto folder = [](const char* program) { return std::filesystem::path(program).parent_path().string() + ":"; };
    const char* const path = std::getenv("PATH");
    const std::string extended =
        folder(CINNABAR_TOOL) + CINNABAR_ECHO_FOLDER + ":" + (path ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin";
    (void)::setenv("PATH", extended.c_str(), 1);
}

bool is_installed(const std::string& program) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (!folder.empty() && ::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    }
    return false;
}

std::string version_of_package(const std::string& package) {
    static std::map<std::string, std::string> known;  // each query takes a tenth of a second
    const auto [version, is_new] = known.try_emplace(package);
    if (is_new) version->second = support::output_of("dpkg-query -W -f '${Version}' " + package + " 2>/dev/null");
    return version->second.empty() ? "unknown" : version->second;
}

}  // namespace cinnabar::compare
