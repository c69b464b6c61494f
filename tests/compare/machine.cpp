// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace cinnabar::compare {
namespace {

std::string processor() {
    std::ifstream lines("/proc/cpuinfo");
    for (std::string line; std::getline(lines, line);) {
        const std::size_t value = line.find(": ");
        if (line.rfind("model name", 0) == 0 && value != line.npos) return line.substr(value + 2);
    }
    return "an unknown processor";
}

std::string kernel() {
    utsname about{};
    return ::uname(&about) == 0 ? std::string(about.sysname) + " " + about.release : "an unknown kernel";
}

}  // namespace

Report about_this_machine() {
    Report report;
    report.machine = fmt::format("{}, {} cores, {}", processor(), std::thread::hardware_concurrency(), kernel());
    report.date = fmt::format("{:%F}", fmt::gmtime(std::time(nullptr)));
    return report;
}

}  // namespace cinnabar::compare
