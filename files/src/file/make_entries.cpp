// SPDX-License-Identifier: BSD-3-Clause
// Folders, links and hard links: what a tree has besides files. Each is made below the root or not at all.
#include "file/beneath.hpp"
#include "file/folded_case.hpp"
#include "file/read_entries.hpp"
#include "file/rename_staged.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::files {
namespace {

Error not_a_folder(std::string_view name) {
    return {Errc::exists, "something that is not a folder has that name, and it is kept", printable(name)};
}

bool is_within(std::string_view name, std::string_view folder) {
    return folder.empty() || name == folder || (name.starts_with(folder) && name[folder.size()] == '/');
}

// Gives the owner all permissions on an existing folder of this user, as on a new one. Reports no error, because
// operations that need the permissions will fail. Follows no link, because the name may belong to something else by
// now.
void open_to_owner(int parent, const std::string& leaf, std::uint64_t device) {
    const UniqueFd folder(::openat(parent, leaf.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_dev != device) return;
    if (status.st_uid != ::geteuid() || (status.st_mode & S_IRWXU) == S_IRWXU) return;
    const auto path = "/proc/self/fd/" + std::to_string(folder.get());  // fchmod needs more than O_PATH
    (void)::chmod(path.c_str(), (status.st_mode & 07777u) | S_IRWXU);
}

Result<void> sync_or_leave(UniqueFd folder, std::string_view name, UniqueFd* unsynced) {
    if (!unsynced) return sync_folder(folder.get(), name);
    *unsynced = std::move(folder);
    return {};
}

}  // namespace

Result<UniqueFd> Root::open_folder(std::string_view name) const {
    if (!name.empty()) CINNABAR_TRY_VOID(check_name(name));
    auto fd = open_beneath(directory_->get(), name.empty() ? std::string(".") : std::string(name),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!fd && errno == ENOENT) return Error{Errc::not_found, "there is no such folder", printable(name)};
    if (!fd && errno == ENOTDIR) return Error{Errc::invalid_argument, "it is not a folder", printable(name)};
    if (!fd) return file_error(errno, "cannot open the folder", name);
    CINNABAR_TRY_VOID(check_served(fd.get(), name));
    return fd;
}

// Opens the folder `name`, which is the folder `below` or lies in it. Neither `below` nor a later component of `name`
// may be a symbolic link.
Result<UniqueFd> Root::open_without_links(std::string_view name, std::string_view below) const {
    if (!is_within(name, below))
        return Error{Errc::invalid_argument, "it does not lie in the folder below which no link is followed",
                     printable(name)};
    if (!name.empty()) CINNABAR_TRY_VOID(check_name(name));
    CINNABAR_TRY(auto top, open_folder(below));
    if (name.size() == below.size()) return top;
    const std::string rest(name.substr(below.empty() ? 0 : below.size() + 1));
    auto fd = open_below_without_links(top.get(), rest, O_RDONLY | O_DIRECTORY);
    if (!fd && errno == ENOENT) return Error{Errc::not_found, "there is no such folder", printable(name)};
    if (!fd && errno == ENOTDIR) return Error{Errc::invalid_argument, "it is not a folder", printable(name)};
    if (!fd && errno == ELOOP)
        return Error{Errc::permission, "a symbolic link has the name of a folder, and is not followed",
                     printable(name)};
    if (!fd) return file_error(errno, "cannot open the folder", name);
    CINNABAR_TRY_VOID(check_served(fd.get(), name));
    return fd;
}

Result<UniqueFd> Root::open_target(std::string_view name, Existing existing) const {
    CINNABAR_TRY_VOID(check_new_name(name));
    CINNABAR_TRY(auto parent, open_parent(name));
    CINNABAR_TRY_VOID(check_target(parent.get(), std::string(leaf_of(name)), name, existing));
    CINNABAR_TRY_VOID(check_room(parent.get(), 0, 1, kept_, name));
    return parent;
}

Result<void> Root::make_folder(std::string_view name, UniqueFd* unsynced) const {
    CINNABAR_TRY_VOID(check_new_name(name));
    CINNABAR_TRY(auto parent, open_parent(name));
    const std::string leaf(leaf_of(name));
    struct stat status {};
    if (::fstatat(parent.get(), leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISDIR(status.st_mode)) return not_a_folder(name);
        CINNABAR_TRY_VOID(check_case(parent.get(), leaf, name));
        open_to_owner(parent.get(), leaf, device_);
        return {};
    }
    CINNABAR_TRY_VOID(check_room(parent.get(), 0, 1, kept_, name));
    if (::mkdirat(parent.get(), leaf.c_str(), 0700) != 0) {
        if (errno != EEXIST) return file_error(errno, "cannot make the folder", name);
        if (::fstatat(parent.get(), leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode))
            return not_a_folder(name);
        CINNABAR_TRY_VOID(check_case(parent.get(), leaf, name));
    }
    return sync_or_leave(std::move(parent), name, unsynced);
}

Result<void> Root::finish_folder(std::string_view name, const Attributes& attributes, UniqueFd* unsynced) const {
    CINNABAR_TRY_VOID(check_name(name));
    if (!staging_) return Error{Errc::permission, "the server gives files and takes none", printable(name)};
    CINNABAR_TRY(auto folder, open_folder(name));
    CINNABAR_TRY_VOID(give_attributes(folder.get(), attributes, name));
    return sync_or_leave(std::move(folder), name, unsynced);
}

// Makes something under a temporary name in the staging folder, and then renames it to `name`. `make` returns 0, or -1
// with errno; EEXIST: another temporary name is tried. `without`: the error text if errno says that the file system has
// no entries of this kind; empty: such an errno is reported as any other. If the entry disappears before it is renamed,
// makes it again: in the folder of a fetch, another fetch may have removed it as a link that a killed fetch left
// (remove_leftovers()).
template <typename Make>
Result<void> Root::stage(std::string_view name, Existing existing, UniqueFd* unsynced, std::string_view without,
                         Make make) const {
    CINNABAR_TRY(auto parent, open_target(name, existing));
    const std::string leaf(leaf_of(name));
    const Target target{directory_->get(), parent.get(), leaf, name, existing};
    for (int attempt = 0; attempt < staged_attempts_max; ++attempt) {
        const std::string staged = make_staged_name();
        if (make(staging_->get(), staged.c_str()) != 0) {
            if (errno == EEXIST) continue;
            if (lacks_kind(errno) && !without.empty())
                return Error{Errc::invalid_argument, without, printable(name), errno};
            return file_error(errno, "cannot make the link", name);
        }
        Result<void> named = check_destination(target);
        if (named) named = give_name(staging_->get(), staged, target);
        // Removes the staged name even after success: rename() of one hard link over another of the same file does
        // nothing, so the staged name remains.
        const bool was_gone = ::unlinkat(staging_->get(), staged.c_str(), 0) != 0 && errno == ENOENT;
        if (named) return sync_or_leave(std::move(parent), name, unsynced);
        if (!was_gone || named.code() != Errc::not_found) return named;
    }
    return file_error(EEXIST, "cannot make the link", name);
}

Result<void> Root::make_link(std::string_view name, const std::string& target, const Attributes& attributes,
                             Existing existing, UniqueFd* unsynced) const {
    if (target.empty() || target.find('\0') != std::string::npos)
        return Error{Errc::invalid_argument, "a link has to lead somewhere", printable(name)};
    if (target.size() > name_bytes_max)
        return Error{Errc::too_large, "the target of the link is over 4095 bytes", printable(name)};
    if (attributes.modified_ns >= 1'000'000'000)
        return Error{Errc::invalid_argument, "its time of modification is invalid", printable(name)};
    const timespec times[2] = {{0, UTIME_OMIT}, {attributes.modified_s, static_cast<long>(attributes.modified_ns)}};
    constexpr std::string_view without = "the file system has no symbolic links: leave it out (--exclude)";
    return stage(name, existing, unsynced, without, [&](int staging, const char* staged) {
        if (::symlinkat(target.c_str(), staging, staged) != 0) return -1;
        (void)::utimensat(staging, staged, times, AT_SYMLINK_NOFOLLOW);  // not all file systems store times of links
        return 0;
    });
}

Result<void> Root::make_hard_link(std::string_view name, std::string_view of, Existing existing,
                                  UniqueFd* unsynced) const {
    CINNABAR_TRY_VOID(check_name(of));
    CINNABAR_TRY(const auto from, open_parent(of));
    const std::string leaf(leaf_of(of));
    struct stat status {};
    if (::fstatat(from.get(), leaf.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return file_error(errno, "cannot look at the file that it is to be another name of", of);
    if (!S_ISREG(status.st_mode))
        return Error{Errc::invalid_argument, "only a file can have several names", printable(of)};
    const ino_t inode = status.st_ino;
    // The kernel may also refuse another name for a file of somebody else (fs.protected_hardlinks).
    const std::string_view without = status.st_uid != ::geteuid()
                                         ? ""
                                         : "the file system has no hard links: move it by itself, as a file of its own";
    return stage(name, existing, unsynced, without, [&](int staging, const char* staged) {
        if (::linkat(from.get(), leaf.c_str(), staging, staged, 0) != 0) return -1;
        const bool there = ::fstatat(staging, staged, &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (there && status.st_ino == inode) return 0;
        (void)::unlinkat(staging, staged, 0);
        // The name may have been replaced meanwhile by another file, or the staged link may have been swept.
        errno = there ? ENOENT : EEXIST;
        return -1;
    });
}

Result<Listing> Root::list(std::string_view name, std::uint64_t cursor, const ExtendedKinds& kinds,
                           std::optional<std::string_view> no_links_below) const {
    CINNABAR_TRY(const auto folder, no_links_below ? open_without_links(name, *no_links_below) : open_folder(name));
    Listing listing;
    CINNABAR_TRY(listing.attributes, attributes_of_folder(folder.get(), kinds, name));
    std::optional<Error> failure;
    std::size_t bytes = 0;
    std::uint64_t last = 0;  // cursor after the last name taken
    bool more = false;
    CINNABAR_TRY_VOID(read_names(folder, cursor, name, [&](std::string_view leaf, std::uint64_t next) {
        if (listing.entries.size() >= listing_entries_max || (bytes >= listing_bytes_max && !listing.entries.empty())) {
            more = true;
            return false;
        }
        last = next;
        const bool staging = leaf == staging_folder;
        if (name.empty() && staging) return true;
        const std::string full = name.empty() ? std::string(leaf) : std::string(name).append("/").append(leaf);
        auto entry = read_entry(folder.get(), std::string(leaf), kinds, full);
        // If the extended attributes cannot be read, lists the entry without them; fetching it reports the error.
        if (!entry && entry.code() != Errc::not_found) entry = read_entry(folder.get(), std::string(leaf), {}, full);
        if (!entry && entry.code() == Errc::not_found) return true;  // it was removed meanwhile
        if (!entry) failure = std::move(entry).error();
        if (!entry) return false;
        if (staging && entry->kind == EntryKind::folder) return true;  // staging folder of a server with a nested root
        bytes += leaf.size() + entry->target.size() + extended_bytes(entry->attributes.extended);
        listing.entries.push_back(*std::move(entry));
        return true;
    }));
    if (failure) return *failure;
    if (more) listing.cursor = last;
    return listing;
}

Result<Entry> Root::look(std::string_view name, const ExtendedKinds& kinds) const {
    CINNABAR_TRY_VOID(check_name(name));
    CINNABAR_TRY(const auto parent, open_parent(name));
    return look_in(parent.get(), name, kinds);
}

Result<Entry> Root::look_in(int parent, std::string_view name, const ExtendedKinds& kinds) const {
    const std::string leaf(leaf_of(name));
    // A name that goes through a link to the root may lead to the staging folder, which check_name() rejects only by
    // name.
    if (own_staging_ && leaf == staging_folder) {
        const UniqueFd folder(::openat(parent, leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (folder) CINNABAR_TRY_VOID(check_served(folder.get(), name));
    }
    auto entry = read_entry(parent, leaf, kinds, name);
    if (entry.code() == Errc::not_found) return Error{Errc::not_found, "nothing has that name", printable(name)};
    return entry;
}

Result<void> Root::remove(std::string_view name, std::optional<std::string_view> no_links_below,
                          UniqueFd* unsynced) const {
    CINNABAR_TRY_VOID(check_name(name));
    if (!staging_) return Error{Errc::permission, "the server gives files and takes none", printable(name)};
    CINNABAR_TRY(auto parent,
                 no_links_below ? open_without_links(parent_of(name), *no_links_below) : open_parent(name));
    const std::string leaf(leaf_of(name));
    CINNABAR_TRY(const auto entry, look_in(parent.get(), name, {}));
    if (entry.kind == EntryKind::other)
        return Error{Errc::invalid_argument, "a device, socket or pipe: it is not removed", printable(name)};
    const int how = entry.kind == EntryKind::folder ? AT_REMOVEDIR : 0;
    if (::unlinkat(parent.get(), leaf.c_str(), how) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST)
            return Error{Errc::busy, "the folder is not empty: remove what is in it first (remove -r)",
                         printable(name)};
        if (errno == ENOENT) return Error{Errc::not_found, "nothing has that name", printable(name)};
        return file_error(errno, "cannot remove it", name);
    }
    return sync_or_leave(std::move(parent), name, unsynced);
}

}  // namespace cinnabar::files
