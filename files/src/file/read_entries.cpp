// SPDX-License-Identifier: BSD-3-Clause
#include "file/read_entries.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace cinnabar::files {
namespace {

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { (void)::closedir(folder); }
};

EntryKind kind_of(mode_t mode) noexcept {
    if (S_ISREG(mode)) return EntryKind::file;
    if (S_ISDIR(mode)) return EntryKind::folder;
    return S_ISLNK(mode) ? EntryKind::link : EntryKind::other;
}

Result<std::string> read_target(int folder, const std::string& leaf, std::string_view full_name) {
    std::string target(name_bytes_max + 1, '\0');
    const ssize_t bytes = ::readlinkat(folder, leaf.c_str(), target.data(), target.size());
    if (bytes < 0) return file_error(errno, "cannot read the link", full_name);
    target.resize(static_cast<std::size_t>(bytes));
    return target;
}

Result<std::vector<ExtendedAttribute>> extended_of(int folder, const std::string& leaf, const ExtendedKinds& kinds,
                                                   std::string_view full_name) {
    const UniqueFd fd(::openat(folder, leaf.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd) return file_error(errno, "cannot open it", full_name);
    return read_extended(fd.get(), kinds, full_name);
}

}  // namespace

Attributes attributes_of(const struct stat& status) {
    Attributes result;
    result.mode = status.st_mode & 0777u;
    result.modified_s = status.st_mtim.tv_sec;
    result.modified_ns = static_cast<std::uint32_t>(status.st_mtim.tv_nsec);
    return result;
}

Result<Entry> read_entry(int folder, const std::string& leaf, const ExtendedKinds& kinds, std::string_view full_name) {
    struct stat status {};
    if (::fstatat(folder, leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return file_error(errno, "cannot look at it", full_name);
    Entry entry;
    entry.name = leaf;
    entry.kind = kind_of(status.st_mode);
    entry.attributes = attributes_of(status);
    if (entry.kind == EntryKind::file) {
        entry.bytes = static_cast<std::uint64_t>(status.st_size);
        if (status.st_nlink > 1) entry.inode = status.st_ino;
        if (status.st_nlink > 1) entry.device = status.st_dev;
    }
    if (entry.kind == EntryKind::link) {
        CINNABAR_TRY(entry.target, read_target(folder, leaf, full_name));
    }
    const bool has_extended = entry.kind == EntryKind::file || entry.kind == EntryKind::folder;
    if (has_extended && (kinds.user || kinds.acls)) {
        CINNABAR_TRY(entry.attributes.extended, extended_of(folder, leaf, kinds, full_name));
    }
    return entry;
}

Result<Attributes> attributes_of_folder(int folder, const ExtendedKinds& kinds, std::string_view name) {
    struct stat status {};
    if (::fstat(folder, &status) != 0) return file_error(errno, "cannot look at the folder", name);
    Attributes result = attributes_of(status);
    CINNABAR_TRY(result.extended, read_extended(folder, kinds, name));
    return result;
}

Result<void> read_names(const UniqueFd& folder, std::uint64_t cursor, std::string_view full_name,
                        const EachName& each) {
    // Reading a directory moves the descriptor's position, so this opens a descriptor of its own.
    UniqueFd fd(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return file_error(errno, "cannot open the folder", full_name);
    const std::unique_ptr<DIR, CloseFolder> reader(::fdopendir(fd.get()));
    if (!reader) return file_error(errno, "cannot read the folder", full_name);
    (void)fd.release();
    if (cursor != 0) ::seekdir(reader.get(), static_cast<long>(cursor));
    for (;;) {
        errno = 0;
        const dirent* const found = ::readdir(reader.get());
        if (!found && errno != 0) return file_error(errno, "cannot read the folder", full_name);
        if (!found) return {};
        const std::string_view leaf = found->d_name;
        if (leaf == "." || leaf == "..") continue;
        if (!each(leaf, static_cast<std::uint64_t>(found->d_off))) return {};
    }
}

}  // namespace cinnabar::files
