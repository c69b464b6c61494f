// SPDX-License-Identifier: BSD-3-Clause
// The mappings of a process, as the kernel describes them, and the search for bytes in them.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::support {

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string access;  // "rw-p"
    std::string flags;   // of VmFlags; "dd": not in core dumps

    [[nodiscard]] bool has(const std::string& flag) const { return (flags + ' ').find(' ' + flag + ' ') != flags.npos; }
    [[nodiscard]] bool contains(std::uintptr_t at) const { return begin <= at && at < end; }
};

// `process`: its number, if it is not this one.
inline std::vector<Mapping> mappings(const std::string& process = "self") {
    std::vector<Mapping> found;
    std::ifstream file("/proc/" + process + "/smaps");
    for (std::string line; std::getline(file, line);) {
        Mapping next;
        char access[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &next.begin, &next.end, access) == 3) {
            next.access = access;
            found.push_back(next);
        } else if (line.starts_with("VmFlags:") && !found.empty()) {
            found.back().flags = line.substr(line.find(':') + 1);
        }
    }
    return found;
}

inline Mapping mapping_of(const void* at) {
    for (const Mapping& each : mappings())
        if (each.contains(reinterpret_cast<std::uintptr_t>(at))) return each;
    ADD_FAILURE() << at << " is not mapped";
    return {};
}

// Searches memory for bytes that are given with all bits turned, so that the search does not find itself.
class MemorySearch {
  public:
    explicit MemorySearch(std::string turned)
        : memory_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)), turned_(std::move(turned)), part_(1u << 20) {
        EXPECT_TRUE(memory_);
    }

    // The mappings with a copy. The shadow memory of sanitizers is too large to be searched.
    [[nodiscard]] std::vector<Mapping> holders() {
        constexpr std::uintptr_t searched_max = 256u << 20;
        std::vector<Mapping> found;
        for (const Mapping& each : mappings()) {
            const bool searched = each.access.substr(0, 2) == "rw" && each.end - each.begin <= searched_max;
            if (searched && is_in(each)) found.push_back(each);
        }
        return found;
    }

  private:
    [[nodiscard]] bool is_in(const Mapping& mapping) {
        // The parts overlap, so that no copy is cut.
        for (std::uintptr_t at = mapping.begin; at < mapping.end; at += part_.size() - turned_.size()) {
            const auto wanted = std::min<std::uintptr_t>(part_.size(), mapping.end - at);
            const ssize_t have = ::pread(memory_.get(), part_.data(), wanted, static_cast<off_t>(at));
            if (have <= 0) return false;
            if (is_in_part(at, have)) return true;
        }
        return false;
    }
    // Whether the first `have` bytes of the part, which were read from `from`, have a copy that is not in the part.
    [[nodiscard]] bool is_in_part(std::uintptr_t from, ssize_t have) const {
        const auto same = [](char a, char b) { return a == static_cast<char>(~b); };
        const auto end = part_.begin() + have;
        for (auto next = part_.begin();; ++next) {
            next = std::search(next, end, turned_.begin(), turned_.end(), same);
            if (next == end) return false;
            const std::uintptr_t at = from + static_cast<std::uintptr_t>(next - part_.begin());
            if (at - reinterpret_cast<std::uintptr_t>(part_.data()) >= part_.size()) return true;
        }
    }

    const UniqueFd memory_;
    const std::string turned_;
    std::vector<char> part_;
};

}  // namespace cinnabar::support
