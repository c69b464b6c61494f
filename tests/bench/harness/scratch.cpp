// SPDX-License-Identifier: BSD-3-Clause
#include "scratch.hpp"

#include <cinnabar/base/random.hpp>

#include <linux/magic.h>
#include <signal.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;
constexpr const char* tmpfs_root = "/dev/shm";
constexpr const char* prefix = "cinnabar-bench-";

void remove_leftovers() {
    for (const auto& entry : fs::directory_iterator{tmpfs_root}) {
        const auto name = entry.path().filename().string();
        if (name.rfind(prefix, 0) != 0) continue;
        const auto* digits = name.data() + std::string_view{prefix}.size();
        pid_t owner = 0;
        std::from_chars(digits, name.data() + name.size(), owner);
        std::error_code ignored;
        if (owner > 0 && kill(owner, 0) != 0) fs::remove_all(entry.path(), ignored);
    }
}

}  // namespace

Scratch::Scratch(std::uint64_t bytes_needed) : path_(fs::path{tmpfs_root} / (prefix + std::to_string(getpid()))) {
    struct statfs about {};
    if (statfs(tmpfs_root, &about) != 0 || about.f_type != TMPFS_MAGIC) {
        throw std::runtime_error{std::string{tmpfs_root} + " is no tmpfs"};
    }
    remove_leftovers();
    if (fs::space(tmpfs_root).available < bytes_needed) {
        throw std::runtime_error{std::string{"too little room on "} + tmpfs_root};
    }
    fs::create_directories(path_);
}

Scratch::~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

void make_file(const fs::path& path, std::uint64_t bytes) {
    std::vector<std::uint64_t> block(std::min<std::uint64_t>(1 << 17, bytes / 8 + 1));
    Random random{bytes};
    std::ofstream file{path, std::ios::binary};
    for (std::uint64_t left = bytes; left > 0;) {
        for (auto& word : block) word = random.next();
        const auto count = std::min<std::uint64_t>(left, block.size() * sizeof block[0]);
        file.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(count));
        left -= count;
    }
    if (!file.flush()) throw std::runtime_error{"cannot write " + path.string()};
}

void make_folder(const fs::path& path, std::uint64_t files, std::uint64_t bytes_each) {
    for (std::uint64_t i = 0; i < files; ++i) {
        const auto folder = path / std::to_string(i / 100);
        if (i % 100 == 0) fs::create_directories(folder);
        make_file(folder / std::to_string(i), bytes_each);
    }
}

std::uint64_t count_files(const fs::path& folder) {
    std::uint64_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) count += entry.is_regular_file() ? 1 : 0;
    return count;
}

}  // namespace cinnabar::bench
