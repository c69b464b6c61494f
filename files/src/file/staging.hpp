// SPDX-License-Identifier: BSD-3-Clause
// What lies in a staging folder: staged files, and beside those that can be gone on with their journals. A staged file
// is locked (flock) for as long as somebody works on it; what is not locked are remains.
#pragma once

#include "file/journal.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/remains.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// The names that a file to be called `name` is staged under if it can be gone on with: always the same ones.
struct StagedNames {
    std::string part;
    std::string journal;
};
[[nodiscard]] StagedNames staged_names_of(std::string_view name);

// A staged file that is locked, and can be gone on with.
struct Part {
    std::shared_ptr<const UniqueFd> file;
    std::shared_ptr<Journal> journal;
    std::uint64_t kept_bytes = 0;  // as the journal promises
    std::string name;
};
// Goes on with what is there of the file of `head`, or begins it. Nothing: somebody else is at work on it, or has its
// place in the folder, and it has to be staged under another name. `alone`: the folder belongs to this process, so
// whoever is at work on that very file is about to end, and is waited for. Errors of file_error.
[[nodiscard]] Result<std::optional<Part>> open_part(const std::shared_ptr<const UniqueFd>& staging,
                                                    const JournalHead& head, bool alone);

// Frees the room reserved beyond the end of a file. Keeps its time of modification, which tells its age.
void release_reserved(int fd) noexcept;

// All remains, oldest first. Those of which name and size cannot be told are not among them.
[[nodiscard]] std::vector<Remains> list_remains(int staging);
// Removes those that are over the limits, and, `sweep`, all that nobody can go on with. How many there were.
std::uint32_t trim_remains(const UniqueFd& staging, const RemainsLimits& limits, bool sweep);
// The oldest, for room. False: there are none.
bool remove_oldest_remains(int staging);
// Those of one name; of all for an empty one. How many there were.
std::uint32_t remove_remains(int staging, std::string_view name);

}  // namespace cinnabar::files
