// SPDX-License-Identifier: BSD-3-Clause
// A directory on tmpfs for the files of a figure. It is removed at the end; the next run removes what a killed run left
// behind.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cinnabar::bench {

class Scratch {
  public:
    // Throws std::runtime_error if there is no tmpfs, or less than `bytes_needed` free on it.
    explicit Scratch(std::uint64_t bytes_needed);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

// Makes a file of bytes that no file system can compress.
void make_file(const std::filesystem::path& path, std::uint64_t bytes);

// Makes a folder of `files` such files, a hundred in each of its subfolders.
void make_folder(const std::filesystem::path& path, std::uint64_t files, std::uint64_t bytes_each);
// The number of files in the folder and below it.
[[nodiscard]] std::uint64_t count_files(const std::filesystem::path& folder);

}  // namespace cinnabar::bench
