// SPDX-License-Identifier: BSD-3-Clause
// A temporary directory of a test, removed with its contents, and functions to read it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace cinnabar::support {

// On tmpfs, where there is one: it is fast, has holes, and dates each change, as not all file systems do.
[[nodiscard]] inline std::filesystem::path memory_folder() {
    return std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                               : std::filesystem::temp_directory_path();
}

class Folder {
  public:
    explicit Folder(const std::filesystem::path& below = std::filesystem::temp_directory_path()) {
        auto pattern = (below / "cinnabar-test-XXXXXX").string();
        const char* made = ::mkdtemp(pattern.data());
        EXPECT_NE(made, nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string at(const std::string& name) const { return (path_ / name).string(); }

    std::string put(const std::string& name, const std::string& content) const {
        std::ofstream(at(name), std::ios::binary) << content;
        return at(name);
    }
    [[nodiscard]] std::string get(const std::string& name) const {
        std::ifstream file(at(name), std::ios::binary);
        EXPECT_TRUE(file) << at(name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // All files and folders below, relative, sorted.
    [[nodiscard]] std::vector<std::string> list() const { return list_of(path_); }
    [[nodiscard]] static std::vector<std::string> list_of(const std::filesystem::path& path) {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
            names.push_back(entry.path().lexically_relative(path).string());
        std::sort(names.begin(), names.end());
        return names;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace cinnabar::support
