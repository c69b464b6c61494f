// SPDX-License-Identifier: BSD-3-Clause
// Folders that several entries of one call have changed, to be synced once each when all changes are made. One thread.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cinnabar::files {

class FolderSyncs {
  public:
    // Notes that entry `number` of the call, named `name`, has changed `folder`. Does nothing if `folder` is empty.
    void add(UniqueFd folder, std::size_t number, const std::string& name);
    // Syncs the folders, and closes them. Calls `failed` for each entry whose folder could not be synced. Skips folders
    // that were removed meanwhile: syncing the folders that contained them records the removal.
    void sync(const std::function<void(std::size_t number, const Error& why)>& failed);
    [[nodiscard]] std::size_t count() const noexcept { return folders_.size(); }

  private:
    struct Changed {
        UniqueFd folder;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::string name;  // the name of its first entry, for errors
        std::vector<std::size_t> numbers;
    };
    std::vector<Changed> folders_;
};

}  // namespace cinnabar::files
