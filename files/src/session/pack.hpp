// SPDX-License-Identifier: BSD-3-Clause
// Saves many small files that arrived in one window, at a server in a save, at a client in a fetch. Each file is
// written under a temporary name, verified and synced before it is renamed into place. The files of one call are
// divided among the disk threads, and each part is synced as a batch. An error of one file does not affect the others.
#pragma once

#include "session/protocol.hpp"

#include <cinnabar/files/root.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cinnabar::files {

// Check the limits of a request: too_large, invalid_argument. Called before the seal is checked, because checking the
// seal reads the whole request.
[[nodiscard]] Result<void> check_pack(const PackIn& in);
[[nodiscard]] Result<void> check_pack(const ReadPackIn& in);
[[nodiscard]] Result<void> check_pack(const LendPackIn& in);
[[nodiscard]] Result<void> check_pack(const TakePackIn& in);
// The total size of the files. `In`: PackIn, ReadPackIn, LendPackIn.
template <typename In>
[[nodiscard]] std::uint64_t pack_bytes(const In& in) noexcept {
    std::uint64_t bytes = 0;
    for (const auto& file : in.files) bytes += file.bytes;
    return bytes;
}

// The error of one file of a pack as it is sent to the client, and as the client reports it.
[[nodiscard]] PackedOutcome to_outcome(const Error& error);
[[nodiscard]] Error from_outcome(const PackedOutcome& outcome);

// How the files of a pack are saved.
struct PackMode {
    bool exact = false;    // apply all attributes; otherwise the mode less the umask
    bool replace = false;  // replace existing files
    bool checked = true;   // compare each content with its checksum
    bool marked = true;    // store the checksum with the file
    Sync sync = Sync::batch;
};

class Pack {
  public:
    struct File {
        const PackedFile* in = nullptr;
        ConstBytes content;
        NewFile::BeforeNaming before_naming;  // may be empty
        bool sparse = false;                  // leave out blocks of zeros
        std::optional<NewFile> file;
        Result<void> outcome{};
    };
    // `root` must outlive this object.
    Pack(const Root& root, PackMode mode) : root_(root), mode_(mode) {}

    // Adds a file with its contents.
    void add(File file) { files_.push_back(std::move(file)); }
    // Saves the files from `begin` to before `end`, and sets their outcomes. Any thread; call it once for each file.
    void save(std::size_t begin, std::size_t end);
    [[nodiscard]] const std::vector<File>& files() const noexcept { return files_; }

  private:
    [[nodiscard]] Result<void> write(File& file, const NewFile* sibling) const;
    void save_one_by_one(std::span<File> files) const;
    void save_together(std::span<File> files) const;

    const Root& root_;
    const PackMode mode_;
    std::vector<File> files_;
};

}  // namespace cinnabar::files
