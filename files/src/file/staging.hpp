// SPDX-License-Identifier: BSD-3-Clause
// The contents of a staging folder: staged files, and a journal beside each staged file that can be resumed. A staged
// file is locked (flock) while somebody works on it; staged files that are not locked are remains.
#pragma once

#include "file/journal.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/file_stamp.hpp>
#include <cinnabar/files/remains.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// The names under which a resumable file `name` is staged; they depend only on `name`.
struct StagedNames {
    std::string part;
    std::string journal;
};
[[nodiscard]] StagedNames staged_names_of(std::string_view name);

// A resumable staged file, locked by this process.
struct Part {
    std::shared_ptr<const UniqueFd> file;
    std::shared_ptr<Journal> journal;
    std::uint64_t kept_bytes = 0;  // bytes recorded in the journal
    std::string name;
    FileStamp found = {};  // state of the staged file before it was opened; meaningless for a new one
};
// Opens the staged file for `head`, or begins it. nullopt: somebody else is working on it or occupies its name, so the
// file must be staged under another name. `alone`: the folder belongs to this process; a task that is still working on
// the same file is about to end, and this call waits for that task. Errors of file_error().
[[nodiscard]] Result<std::optional<Part>> open_part(const std::shared_ptr<const UniqueFd>& staging,
                                                    const JournalHead& head, bool alone);

// Locks a staged file that was just made in a folder where remove_leftovers() may run at any time. False:
// remove_leftovers() has removed the file. True also on a file system without locks, where remove_leftovers() removes
// nothing.
[[nodiscard]] bool hold_staged(int folder, const std::string& name, int fd);

// Releases space reserved beyond the end of a file. Preserves the modification time, from which the age is computed.
void release_reserved(int fd) noexcept;

// All remains, oldest first, except those whose journal cannot be read.
[[nodiscard]] std::vector<Remains> list_remains(int staging);
// Removes remains beyond the limits and, with `sweep`, all that cannot be resumed. `sweep` requires that nobody is
// working on a file. Returns how many were removed.
std::uint32_t trim_remains(const UniqueFd& staging, const RemainsLimits& limits, bool sweep);
// Removes what killed fetches have left in the folder: this user's staged files and journals that nobody works on and
// that cannot be resumed, and staged links. Returns how many were removed.
std::uint32_t remove_leftovers(const UniqueFd& folder);
// Removes the oldest remains, to make room. False: there are none.
bool remove_oldest_remains(int staging);
// Removes the remains of one name, or all if `name` is empty. Returns how many were removed.
std::uint32_t remove_remains(int staging, std::string_view name);

}  // namespace cinnabar::files
