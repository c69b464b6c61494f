// SPDX-License-Identifier: BSD-3-Clause
#include "process_status.hpp"

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

// The number after `word` in a file of "word number" pairs; 0 if there is none.
std::uint64_t number_after(const fs::path& path, const std::string& word) {
    std::ifstream file{path};
    if (!file) throw std::runtime_error{"cannot read " + path.string()};
    std::string each;
    std::uint64_t number = 0;
    while (file >> each) {
        if (each == word && file >> number) return number;
    }
    return 0;
}

}  // namespace

ProcessStatus status_of(pid_t pid) {
    const auto root = fs::path{"/proc"} / std::to_string(pid);
    ProcessStatus status;
    status.resident_bytes = number_after(root / "status", "VmRSS:") * 1024;
    status.resident_bytes_max = number_after(root / "status", "VmHWM:") * 1024;
    for (const auto& task : fs::directory_iterator{root / "task"}) {
        status.wake_ups += number_after(task.path() / "status", "voluntary_ctxt_switches:");
    }
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        throw std::runtime_error{"no process clock"};
    }
    status.cpu_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
    return status;
}

std::uint64_t resident_bytes_max_of(pid_t pid) {
    try {
        return number_after(fs::path{"/proc"} / std::to_string(pid) / "status", "VmHWM:") * 1024;
    } catch (const std::runtime_error&) {
        return 0;
    }
}

std::uint64_t kernel_socket_bytes() {
    std::ifstream file{"/proc/net/sockstat"};
    std::uint64_t pages = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("TCP:", 0) != 0) continue;
        std::istringstream words{line};
        for (std::string word; words >> word;) {
            if (word == "mem") words >> pages;
        }
    }
    return number_after("/proc/meminfo", "Slab:") * 1024 + pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace cinnabar::bench
