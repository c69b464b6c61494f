// SPDX-License-Identifier: BSD-3-Clause
// A directory on tmpfs for the files of a figure, removed at the end; what a killed run left behind is removed by the
// next one.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cinnabar::bench {

class Scratch {
  public:
    // Throws std::runtime_error when there is no tmpfs or less than `bytes_needed` free on it.
    explicit Scratch(std::uint64_t bytes_needed);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

// Makes a file of bytes that no filesystem can make smaller.
void make_file(const std::filesystem::path& path, std::uint64_t bytes);

// Makes a folder of so many such files, a hundred in each of its folders.
void make_folder(const std::filesystem::path& path, std::uint64_t files, std::uint64_t bytes_each);
// Of files in a folder and those below it.
[[nodiscard]] std::uint64_t count_files(const std::filesystem::path& folder);

}  // namespace cinnabar::bench
