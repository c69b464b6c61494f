// SPDX-License-Identifier: BSD-3-Clause
#include "callgrind.hpp"

#include "support/command_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace cinnabar::counts {
namespace {

// The totals that the tool reports; empty if the run failed.
std::vector<unsigned long> totals(const std::string& command, const std::string& out) {
    const std::string output =
        support::output_of("valgrind --tool=callgrind --callgrind-out-file=" + out + " " + command + " 2>&1");
    constexpr const char* label = "Collected : ";
    const std::size_t at = output.find(label);
    std::vector<unsigned long> counts;
    // The tool reports what a program has run before it aborted, too.
    if (at == std::string::npos || output.find("Process terminating") != std::string::npos) return counts;
    std::istringstream line(output.substr(at + std::string(label).size()));
    for (unsigned long count = 0; line >> count;) counts.push_back(count);
    return counts;
}

unsigned long run(const std::string& command, const std::string& out) {
    const auto counts = totals(command, out);
    return counts.empty() ? 0 : counts.front();
}

std::filesystem::path out_file() {
    return std::filesystem::temp_directory_path() / ("callgrind." + std::to_string(::getpid()));
}

// Names are written as "fl=(3) some/name.cpp" the first time, and as "fl=(3)" from then on.
std::string name_of(const std::string& text, std::map<std::string, std::string>& names) {
    const std::size_t end = text.find(')');
    if (end == std::string::npos) return text;
    const std::string number = text.substr(0, end + 1);
    if (text.size() > end + 2) names[number] = text.substr(end + 2);
    return names[number];
}

// How often each address was executed, by object.
using Executed = std::map<std::string, std::map<std::uint64_t, unsigned long>>;

Executed executed_by(const std::string& command) {
    const auto out = out_file();
    Executed executed;
    if (run("--dump-instr=yes --compress-pos=no " + command, out.string()) == 0) return executed;
    std::ifstream lines(out);
    std::map<std::string, std::string> names;
    std::map<std::uint64_t, unsigned long>* counts = nullptr;
    for (std::string text; std::getline(lines, text);) {
        if (text.starts_with("ob=")) {
            counts = &executed[name_of(text.substr(3), names)];
        } else if (text.starts_with("cob=")) {
            (void)name_of(text.substr(4), names);
        } else if (text.starts_with("calls=")) {
            std::getline(lines, text);  // the cost of the callee
        } else if (counts && text.starts_with("0x")) {
            char* next = nullptr;
            const std::uint64_t address = std::strtoull(text.c_str(), &next, 16);
            (void)std::strtoul(next, &next, 10);  // the line number
            (*counts)[address] += std::strtoul(next, nullptr, 10);
        }
    }
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    return executed;
}

// "  4a10:        lock cmpxchg %ecx,(%rdx)": returns the address if the instruction is a locked one.
std::optional<std::uint64_t> locked_at(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return {};
    const bool exchange = text.find("\txchg") != std::string::npos && text.find('(') != std::string::npos;
    if (!exchange && text.find("\tlock ") == std::string::npos) return {};
    return std::strtoull(text.c_str(), nullptr, 16);
}

// The C library has these functions by several names, with underscores in front and versions behind.
bool locks_a_mutex(std::string_view function) {
    constexpr std::array<std::string_view, 5> locks{"pthread_mutex_lock", "pthread_mutex_trylock",
                                                    "pthread_mutex_timedlock", "pthread_rwlock_rdlock",
                                                    "pthread_rwlock_wrlock"};
    return std::any_of(locks.begin(), locks.end(),
                       [&](std::string_view lock) { return function.find(lock) != std::string_view::npos; });
}

}  // namespace

unsigned long locked_instructions(const std::string& command) {
    unsigned long sum = 0;
    for (const auto& [object, counts] : executed_by(command)) {
        if (!object.starts_with('/')) continue;  // "???"
        std::istringstream lines(support::output_of("objdump -d --no-show-raw-insn " + object + " 2>/dev/null"));
        for (std::string text; std::getline(lines, text);) {
            const auto address = locked_at(text);
            const auto found = address ? counts.find(*address) : counts.end();
            if (found != counts.end()) sum += found->second;
        }
    }
    return sum;
}

// "cfn=(12) pthread_mutex_lock" is followed by "calls=3 0", in each function that calls it.
unsigned long mutex_locks(const std::string& command) {
    const auto out = out_file();
    unsigned long sum = 0;
    if (run(command, out.string()) != 0) {
        std::ifstream lines(out);
        std::map<std::string, std::string> names;
        bool locks = false;
        for (std::string text; std::getline(lines, text);) {
            if (text.starts_with("fn=")) {
                (void)name_of(text.substr(3), names);
            } else if (text.starts_with("cfn=")) {
                locks = locks_a_mutex(name_of(text.substr(4), names));
            } else if (locks && text.starts_with("calls=")) {
                sum += std::strtoul(text.c_str() + std::string_view("calls=").size(), nullptr, 10);
            }
        }
    }
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    return sum;
}

unsigned long cache_misses(const std::string& command) {
    // Instructions, reads, writes; then first-level misses of instructions, reads, writes.
    constexpr std::size_t reads_missed = 4;
    constexpr std::size_t writes_missed = 5;
    const auto counts = totals("--cache-sim=yes --D1=32768,8,64 --LL=2097152,16,64 " + command, "/dev/null");
    return counts.size() > writes_missed ? counts[reads_missed] + counts[writes_missed] : 0;
}

bool has_valgrind() { return std::system("valgrind --version > /dev/null 2>&1") == 0; }

unsigned long instructions(const std::string& command) { return run(command, "/dev/null"); }

bool instructions_by_line(const std::string& command, const SeeLine& see) {
    const auto out = out_file();
    const bool ran = run("--compress-pos=no " + command, out.string()) != 0;
    std::ifstream lines(out);
    std::map<std::string, std::string> names;
    std::string file;
    std::string text;
    while (std::getline(lines, text)) {
        const std::string key = text.substr(0, 3);
        if (key == "fl=" || key == "fi=" || key == "fe=") {
            file = name_of(text.substr(3), names);
        } else if (text.starts_with("cfi=") || text.starts_with("cfl=")) {
            (void)name_of(text.substr(4), names);
        } else if (text.starts_with("calls=")) {
            std::getline(lines, text);  // the cost of the callee
        } else if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
            char* next = nullptr;
            const auto line = static_cast<unsigned>(std::strtoul(text.c_str(), &next, 10));
            see(file, line, std::strtoul(next, nullptr, 10));
        }
    }
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    return ran;
}

}  // namespace cinnabar::counts
