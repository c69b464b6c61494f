// SPDX-License-Identifier: BSD-3-Clause
#include "connections.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view established = "01";

}  // namespace

void add_connected(std::istream& table, Inodes& to) {
    std::string line;
    std::getline(table, line);  // the header
    while (std::getline(table, line)) {
        // sl local remote st queues timer retransmits uid timeout inode
        std::istringstream words{line};
        std::string skipped;
        std::string state;
        std::uint64_t inode = 0;
        words >> skipped >> skipped >> skipped >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> inode;
        if (words && state == established && inode != 0) to.insert(inode);
    }
}

Inodes connected_sockets() {
    Inodes all;
    for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream table{path};
        if (table) add_connected(table, all);
    }
    return all;
}

std::size_t connections_of(pid_t pid, const Inodes& connected) {
    constexpr std::string_view begin = "socket:[";
    std::size_t count = 0;
    std::error_code gone;
    for (fs::directory_iterator at{fs::path{"/proc"} / std::to_string(pid) / "fd", gone}, end; !gone && at != end;
         at.increment(gone)) {
        std::error_code closed;  // meanwhile
        const auto what = fs::read_symlink(at->path(), closed).string();
        if (closed || !what.starts_with(begin)) continue;
        count += connected.count(std::strtoull(what.c_str() + begin.size(), nullptr, 10));
    }
    return count;
}

std::vector<pid_t> children_of(pid_t pid) {
    const auto own = std::to_string(pid);
    std::ifstream file{fs::path{"/proc"} / own / "task" / own / "children"};
    std::vector<pid_t> children;
    for (pid_t child = 0; file >> child;) children.push_back(child);
    return children;
}

}  // namespace cinnabar::bench
