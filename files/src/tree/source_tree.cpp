// SPDX-License-Identifier: BSD-3-Clause
#include "file/beneath.hpp"
#include "file/read_entries.hpp"
#include "file/rename_staged.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_tree.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace cinnabar::files {

Result<SourceTree> SourceTree::open(const std::string& path) {
    SourceTree tree;
    tree.folder_ = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!*tree.folder_) return file_error(errno, "cannot open the folder", path);
    if (!open_beneath(tree.folder_->get(), ".", O_PATH))
        return Error{Errc::unsupported, "the system call openat2 is needed (Linux 5.6 or later)", printable(path),
                     errno};
    tree.path_ = path;
    return tree;
}

Result<UniqueFd> SourceTree::open_folder(const std::string& path) const {
    auto fd = open_below_without_links(folder_->get(), path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
    if (!fd) return file_error(errno, "cannot open the folder", path);
    return fd;
}

Result<SourceFile> SourceTree::open_file(const std::string& path) const {
    auto fd = open_below_without_links(folder_->get(), path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return file_error(errno, "cannot open the file", path);
    return SourceFile::from(std::move(fd), path);
}

Result<Attributes> SourceTree::attributes(const ExtendedKinds& kinds) const {
    return attributes_of_folder(folder_->get(), kinds, path_);
}

Scan SourceTree::scan(const Filter& filter, std::string_view prefix, const ExtendedKinds& kinds) const {
    Scan scan;
    scan_folder({}, filter, prefix, kinds, scan);
    // The list grows during the loop, as each folder adds its entries.
    for (std::size_t i = 0; i < scan.entries.size(); ++i) {
        if (scan.entries[i].kind == EntryKind::folder)
            scan_folder(std::string(scan.entries[i].name), filter, prefix, kinds, scan);
    }
    return scan;
}

void SourceTree::scan_folder(const std::string& path, const Filter& filter, std::string_view prefix,
                             const ExtendedKinds& kinds, Scan& scan) const {
    const auto problem = [&](const std::string& where, Error error) {
        scan.problems.push_back({where, std::move(error)});
    };
    const auto folder = open_folder(path);
    if (!folder) return problem(path, folder.error());
    const auto read = read_names(*folder, 0, path, [&](std::string_view leaf, std::uint64_t) {
        const std::string full = path.empty() ? std::string(leaf) : std::string(path).append("/").append(leaf);
        struct stat status {};
        const bool is_folder = ::fstatat(folder->get(), std::string(leaf).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                               S_ISDIR(status.st_mode);
        const bool unfinished = !is_folder && is_unfinished_name(leaf);
        if (unfinished || !filter.takes(std::string(prefix) + full, is_folder)) return ++scan.filtered, true;
        if (is_folder && leaf == staging_folder) {
            problem(full,
                    {Errc::invalid_argument, "it has the unfinished files of a server: left out", printable(full)});
            return true;
        }
        if (full.size() > name_bytes_max) {
            problem(full, {Errc::too_large, "its path is over 4095 bytes", printable(full.substr(0, 80)) + "..."});
            return true;
        }
        auto entry = read_entry(folder->get(), std::string(leaf), kinds, full);
        if (!entry) {
            problem(full, std::move(entry).error());
            return true;
        }
        if (entry->kind == EntryKind::other) {
            problem(full, {Errc::invalid_argument, "a device, socket or pipe: left out", printable(full)});
            return true;
        }
        entry->name = full;
        scan.entries.push_back(*std::move(entry));
        return true;
    });
    if (!read) problem(path, read.error());
}

}  // namespace cinnabar::files
