// SPDX-License-Identifier: BSD-3-Clause
#include "room.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

}  // namespace

std::uint64_t memory_to_use() {
    std::ifstream file{"/proc/meminfo"};
    std::uint64_t kibibytes = 0;
    for (std::string word; file >> word;) {
        if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024 / 5 * 3;
    }
    throw std::runtime_error{"/proc/meminfo does not say how much memory is left"};
}

std::uint64_t room_for_files() { return std::min(memory_to_use(), std::filesystem::space("/dev/shm").available); }

std::uint64_t size_that_fits(std::uint64_t wanted, std::uint64_t least, std::uint64_t times, std::uint64_t room) {
    for (auto size = wanted; size >= least; size /= 2) {
        if (size <= room / times) return size;
    }
    throw std::runtime_error{"too little memory is free: " + std::to_string(room / mebibyte) + " MiB of " +
                             std::to_string(times * least / mebibyte) + " MiB"};
}

std::string size_remark(std::uint64_t bytes, std::uint64_t wanted) {
    const bool whole = bytes >= gibibyte && bytes % gibibyte == 0;
    const auto text = whole ? std::to_string(bytes / gibibyte) + " GiB" : std::to_string(bytes / mebibyte) + " MiB";
    return bytes < wanted ? text + " for lack of room" : text;
}

}  // namespace cinnabar::bench
