// SPDX-License-Identifier: BSD-3-Clause
#include "file/folder_syncs.hpp"

#include "file/rename_staged.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace cinnabar::files {

void FolderSyncs::add(UniqueFd folder, std::size_t number, const std::string& name) {
    if (!folder) return;
    struct stat status {};
    const bool known = ::fstat(folder.get(), &status) == 0;
    const auto same = std::ranges::find_if(folders_, [&](const Changed& changed) {
        return known && changed.inode == status.st_ino && changed.device == status.st_dev;
    });
    if (same != folders_.end()) {
        same->numbers.push_back(number);
        return;
    }
    Changed changed;
    changed.folder = std::move(folder);
    changed.device = status.st_dev;
    changed.inode = status.st_ino;
    changed.name = name;
    changed.numbers.push_back(number);
    folders_.push_back(std::move(changed));
}

void FolderSyncs::sync(const std::function<void(std::size_t number, const Error& why)>& failed) {
    for (auto& changed : folders_) {
        struct stat status {};
        const bool removed = ::fstat(changed.folder.get(), &status) == 0 && status.st_nlink == 0;
        if (removed) continue;
        const auto synced = sync_folder(changed.folder.get(), changed.name);
        if (synced) continue;
        for (const auto number : changed.numbers) failed(number, synced.error());
    }
    folders_.clear();
}

}  // namespace cinnabar::files
