// SPDX-License-Identifier: BSD-3-Clause
// Many small files that came in one window, on their way to the disk: each is written under a name of its own, verified
// and synced before its name appears. The files of one call are divided among the disk threads, and each part is synced
// as a batch. An error of a file is its own.
#pragma once

#include "session/protocol.hpp"

#include <cinnabar/files/root.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cinnabar::files {

// What a client asks for can be: too_large, invalid_argument. Looked at before its seal is checked, which reads all of
// it.
[[nodiscard]] Result<void> check_pack(const PackIn& in);
// All files together.
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

    // To be saved, with their contents.
    void add(File file) { files_.push_back(std::move(file)); }
    [[nodiscard]] std::size_t parts(std::size_t threads) const noexcept;
    // Saves one of so many parts; any thread, each part once.
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
