// SPDX-License-Identifier: BSD-3-Clause
// Saves many small files that arrived in one window. Each is written under a temporary name, verified and synced before
// it is renamed into place. The files of one call are divided among the disk threads, and each part is synced as a
// batch. An error of one file does not affect the others.
#pragma once

#include "session/protocol.hpp"

#include <cinnabar/files/root.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cinnabar::files {

// Checks the limits of a request: too_large, invalid_argument. Called before the seal is checked, which reads the whole
// request.
[[nodiscard]] Result<void> check_pack(const PackIn& in);
// The total size of the files.
[[nodiscard]] std::uint64_t pack_bytes(const PackIn& in) noexcept;

class Pack {
  public:
    struct File {
        const PackedFile* in = nullptr;
        ConstBytes content;
        NewFile::BeforeNaming before_naming;  // may be empty
        std::optional<NewFile> file;
        Result<void> outcome{};
    };
    Pack(const Root& root, const PackIn& in) : root_(root), in_(in) {}

    // Adds a file with its contents.
    void add(File file) { files_.push_back(std::move(file)); }
    [[nodiscard]] std::size_t parts(std::size_t threads) const noexcept;
    // Saves part number `part` of `of` parts. Any thread; call it once per part.
    void save_part(std::size_t part, std::size_t of);
    [[nodiscard]] const std::vector<File>& files() const noexcept { return files_; }

  private:
    [[nodiscard]] Result<void> write(File& file, const NewFile* sibling) const;
    void save_one_by_one(std::span<File> files) const;
    void save_together(std::span<File> files) const;

    const Root& root_;
    const PackIn& in_;
    std::vector<File> files_;
};

}  // namespace cinnabar::files
