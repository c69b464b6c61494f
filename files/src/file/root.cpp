// SPDX-License-Identifier: BSD-3-Clause
#include "file/beneath.hpp"
#include "file/dos_name.hpp"
#include "file/journal.hpp"
#include "file/probe_precision.hpp"
#include "file/read_entries.hpp"
#include "file/rename_staged.hpp"
#include "file/staging.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <string>

namespace cinnabar::files {
namespace {

Error staging_error(std::string_view name) {
    if (errno == ENOENT)
        return {Errc::io, "the folder for unfinished files is gone; a server has to be started again", printable(name)};
    return file_error(errno, "cannot make a file", name);
}

// How much space must stay free beside a sparse file. The space that the file takes is known only when it is written.
// If the file might not fit, a part of the disk stays free, so that a server cannot fill the disk of a client by
// calling a file sparse. For the root of a server, kept_ applies instead.
KeptFree kept_beside_sparse(int parent, std::uint64_t bytes) {
    if (check_room(parent, bytes, 0, {}, {})) return {};
    return default_kept_free("/proc/self/fd/" + std::to_string(parent));
}

}  // namespace

Result<Root> Root::open_directory(const std::string& path) {
    Root root;
    root.directory_ = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!*root.directory_) return file_error(errno, "cannot open the directory", path);
    struct stat status {};
    if (::fstat(root.directory_->get(), &status) != 0) return file_error(errno, "cannot look at the directory", path);
    root.device_ = status.st_dev;
    root.name_rules_ = name_rules_of(root.directory_->get());
    if (!open_beneath(root.directory_->get(), ".", O_PATH))
        return Error{Errc::unsupported, "the system call openat2 is needed (Linux 5.6 or later)", printable(path),
                     errno};
    return root;
}

Result<Root> Root::open(const std::string& path) {
    CINNABAR_TRY(auto root, open_directory(path));
    root.staging_ = root.directory_;
    return root;
}

Result<Root> Root::serve_read_only(const std::string& path) { return open_directory(path); }

Result<Root> Root::serve(const std::string& path, const KeptFree& kept, const RemainsLimits& limits) {
    CINNABAR_TRY(auto root, open_directory(path));
    root.kept_ = kept;
    root.limits_ = limits;
    CINNABAR_TRY_VOID(root.lock(path));
    CINNABAR_TRY_VOID(root.make_staging());
    root.removed_ = files::trim_remains(*root.staging_, limits, true);
    return root;
}

Result<void> Root::lock(const std::string& path) const {
    if (::flock(directory_->get(), LOCK_EX | LOCK_NB) == 0) return {};
    if (errno == EWOULDBLOCK) return Error{Errc::busy, "another server serves this directory", printable(path)};
    return file_error(errno, "cannot lock the directory", path);
}

Result<void> Root::make_staging() {
    const std::string name(staging_folder);
    if (::mkdirat(directory_->get(), name.c_str(), 0700) != 0 && errno != EEXIST)
        return file_error(errno, "cannot make the folder for unfinished files", name);
    auto folder = std::make_shared<UniqueFd>(
        ::openat(directory_->get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!*folder) return file_error(errno, "cannot open the folder for unfinished files", name);
    struct stat status {};
    if (::fstat(folder->get(), &status) != 0) return file_error(errno, "cannot look at the folder", name);
    // Anyone with write access could exchange a file between its verification and its rename.
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error{Errc::permission, "the folder for unfinished files belongs to somebody else: remove it", name};
    if ((status.st_mode & 022) != 0)
        return Error{Errc::permission, "others may write into the folder for unfinished files: chmod 700 it", name};
    staging_inode_ = status.st_ino;
    staging_ = std::move(folder);
    own_staging_ = true;
    return {};
}

Root::~Root() {
    // The folder is removed only if it is empty.
    if (own_staging_ && directory_)
        (void)::unlinkat(directory_->get(), std::string(staging_folder).c_str(), AT_REMOVEDIR);
}

// Refuses what a link inside the root may lead to: the staging folder, which check_name() rejects only by name, and
// other file systems.
Result<void> Root::check_served(int fd, std::string_view name) const {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return file_error(errno, "cannot look at the folder", name);
    if (status.st_dev != device_) return file_error(EXDEV, {}, name);
    if (own_staging_ && status.st_ino == staging_inode_)
        return Error{Errc::permission, "that is the folder for unfinished files", printable(name)};
    return {};
}

Result<void> Root::check_new_name(std::string_view name) const {
    CINNABAR_TRY_VOID(check_name(name));
    if (!staging_) return Error{Errc::permission, "the server gives files and takes none", printable(name)};
    return check_held(name_rules_, leaf_of(name), name);
}

Result<UniqueFd> Root::open_parent(std::string_view name) const {
    auto fd = open_parent_beneath(directory_->get(), name);
    if (!fd && errno == ENOENT)
        return Error{Errc::not_found, "its directory is missing, and none is made", printable(name)};
    if (!fd) return file_error(errno, "cannot open its directory", name);
    CINNABAR_TRY_VOID(check_served(fd.get(), name));
    return fd;
}

// Checks for write access, because the staging folder may be writable although the destination folder is not: better to
// fail now than after the last byte.
Result<std::shared_ptr<const UniqueFd>> Root::parent_for(std::string_view name, const NewFile* sibling) const {
    if (sibling && parent_of(sibling->name_) == parent_of(name)) return sibling->parent_;
    CINNABAR_TRY(auto parent, open_parent(name));
    if (::faccessat(parent.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
        return file_error(errno, "cannot write into its directory", name);
    return std::make_shared<const UniqueFd>(std::move(parent));
}

Result<NewFile> Root::create(std::string_view name, std::uint64_t bytes, std::uint32_t mode, Existing existing,
                             const Resumable& resumable, const NewFile* sibling) const {
    CINNABAR_TRY_VOID(check_new_name(name));
    NewFile file;
    CINNABAR_TRY(file.parent_, parent_for(name, sibling));
    file.name_ = name;
    file.leaf_ = leaf_of(name);
    CINNABAR_TRY_VOID(check_target(file.parent_->get(), file.leaf_, name, existing));
    file.root_ = directory_;
    file.staging_ = staging_;
    file.existing_ = existing;
    file.kept_ = kept_;
    if (resumable.sparse && !own_staging_) file.kept_ = kept_beside_sparse(file.parent_->get(), bytes);
    if (resumable.block_bytes != 0) CINNABAR_TRY_VOID(resume(file, bytes, mode, resumable));
    std::unique_lock reserving(*reserving_, std::defer_lock);
    if (kept_.bytes != 0 && !resumable.sparse) reserving.lock();
    const auto wanted = resumable.sparse ? 0 : bytes - file.resumed_bytes();  // for a sparse file, each write is
                                                                              // checked instead
    if (auto room = make_room(file.parent_->get(), wanted, name); !room) {
        file.park();
        return std::move(room).error();
    }
    if (file.staged_name_.empty()) CINNABAR_TRY_VOID(stage(file, mode));
    if (resumable.sparse) {
        CINNABAR_TRY_VOID(file.set_sparse(bytes));
    } else if (auto reserved = file.reserve(bytes); !reserved) {
        file.park();
        return std::move(reserved).error();
    }
    return file;
}

Result<void> Root::stage(NewFile& file, std::uint32_t mode) const {
    for (int attempt = 0; attempt < staged_attempts_max; ++attempt) {
        auto staged = make_staged_name();
        file.file_ = std::make_shared<const UniqueFd>(::openat(staging_->get(), staged.c_str(),
                                                               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                                               static_cast<mode_t>(mode & 0777u)));
        if (*file.file_) {
            if (!own_staging_ && !hold_staged(staging_->get(), staged, file.file_->get())) continue;
            file.staged_name_ = std::move(staged);
            return {};
        }
        if (errno != EEXIST) break;
    }
    return staging_error(file.name_);
}

// If the remains cannot be used, the file is saved without resuming.
Result<void> Root::resume(NewFile& file, std::uint64_t bytes, std::uint32_t mode, const Resumable& resumable) const {
    const JournalHead head{file.name_, bytes, resumable.block_bytes, mode & 0777u, resumable.sparse, 0};
    CINNABAR_TRY(auto part, open_part(staging_, head, own_staging_));
    if (!part) return {};
    file.file_ = std::move(part->file);
    file.journal_ = std::move(part->journal);
    file.staged_name_ = std::move(part->name);
    file.found_ = part->found;
    file.journal_->set_resumed_bytes(part->kept_bytes);
    file.journal_interval_ = resumable.interval;
    file.bytes_ = bytes;
    return {};
}

// Removes remains only if that makes enough room. Otherwise a client could delete the remains of others by announcing a
// file that is too large.
Result<void> Root::make_room(int parent, std::uint64_t bytes, std::string_view name) const {
    auto room = check_room(parent, bytes, 1, kept_, name);
    if (room || !own_staging_) return room;
    std::uint64_t left = 0;
    for (const auto& remains : list_remains()) left += remains.disk_bytes;
    if (!check_room(parent, bytes - std::min(bytes, left), 1, kept_, name)) return room;
    while (!room && remove_oldest_remains(staging_->get())) room = check_room(parent, bytes, 1, kept_, name);
    return room;
}

// Only a link can lead to a file of the staging folder, because check_name() rejects the folder's name. The file is a
// staged one if the staging folder has it under the last component of its path.
Result<void> Root::check_not_staged(int fd, std::string_view name) const {
    if (!own_staging_) return {};
    std::array<char, PATH_MAX> path{};
    const auto bytes = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
    struct stat opened {};
    struct stat staged {};
    if (bytes < 0 || ::fstat(fd, &opened) != 0) return file_error(errno, "cannot look at the file", name);
    const std::string leaf(leaf_of(std::string_view(path.data(), static_cast<std::size_t>(bytes))));
    if (::fstatat(staging_->get(), leaf.c_str(), &staged, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (staged.st_ino != opened.st_ino || staged.st_dev != opened.st_dev) return {};
    return Error{Errc::permission, "that file is not finished", printable(name)};
}

Result<SourceFile> Root::open_source(std::string_view name) const {
    CINNABAR_TRY_VOID(check_name(name));
    constexpr int how = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    auto fd = open_below_without_links(directory_->get(), std::string(name), how);
    if (!fd && errno == ELOOP) {
        fd = open_beneath(directory_->get(), std::string(name), how);
        if (fd) CINNABAR_TRY_VOID(check_not_staged(fd.get(), name));
    }
    if (!fd && errno == ENOENT) return Error{Errc::not_found, "there is no such file", printable(name)};
    if (!fd) return file_error(errno, "cannot open the file", name);
    return SourceFile::from(std::move(fd), name);
}

AttributePrecision Root::probe_precision() const {
    return staging_ ? files::probe_precision(staging_->get()) : AttributePrecision();
}

std::vector<Remains> Root::list_remains() const {
    return own_staging_ ? files::list_remains(staging_->get()) : std::vector<Remains>();
}

std::uint32_t Root::remove_remains(std::string_view name) const {
    return own_staging_ ? files::remove_remains(staging_->get(), name) : 0;
}

std::uint32_t Root::remove_leftovers() const {
    return staging_ && !own_staging_ ? files::remove_leftovers(*staging_) : 0;
}

std::uint32_t Root::trim_remains() const { return own_staging_ ? files::trim_remains(*staging_, limits_, false) : 0; }

}  // namespace cinnabar::files
