// SPDX-License-Identifier: BSD-3-Clause
#include "file/beneath.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/new_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace cinnabar::files {
namespace {

// Write-back is started this often, so that the sync at the end finds little to do and a large file never fills the
// page cache with dirty pages.
constexpr std::uint64_t flush_bytes = 8u << 20;

}  // namespace

NewFile& NewFile::operator=(NewFile&& other) noexcept {
    if (this == &other) return *this;
    discard();
    root_ = std::move(other.root_);
    staging_ = std::move(other.staging_);
    parent_ = std::move(other.parent_);
    file_ = std::move(other.file_);
    staged_name_ = std::exchange(other.staged_name_, {});
    name_ = std::move(other.name_);
    leaf_ = std::move(other.leaf_);
    existing_ = other.existing_;
    kept_ = other.kept_;
    flushed_ = other.flushed_;
    return *this;
}

Result<void> NewFile::write(std::uint64_t offset, ConstBytes from) {
    if (kept_.bytes != 0) CINNABAR_TRY_VOID(check_room(file_.get(), from.size(), 0, kept_, name_));
    while (!from.empty()) {
        const ssize_t count = ::pwrite(file_.get(), from.data(), from.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) continue;
            return file_error(errno, "cannot write the file", name_);
        }
        offset += static_cast<std::uint64_t>(count);
        from = from.subspan(static_cast<std::size_t>(count));
    }
    if (offset >= flushed_ + flush_bytes) {
        (void)::sync_file_range(file_.get(), static_cast<off_t>(flushed_), static_cast<off_t>(offset - flushed_),
                                SYNC_FILE_RANGE_WRITE);
        flushed_ = offset;
    }
    return {};
}

Result<void> NewFile::commit(const BeforeNaming& before_naming) {
    if (::fsync(file_.get()) != 0) {
        const int failure = errno;
        discard();
        return file_error(failure, "cannot sync the file", name_);
    }
    Result<void> named;
    if (before_naming) named = before_naming(file_.get());
    if (named) named = check_place();
    if (named) named = give_name();
    if (!named) {
        discard();
        return named;
    }
    staged_name_.clear();
    file_.reset();
    // Some file systems cannot sync a directory and say EINVAL; they write it through.
    if (::fsync(parent_.get()) != 0 && errno != EINVAL)
        return file_error(errno, "the file has its name, but the directory could not be synced", name_);
    return {};
}

// The directory was opened with the file, perhaps long ago: others may have moved it out of the root since, or put
// something else than a file under the name. No call of the kernel looks and renames in one, so a moment is left in
// which they can still do so.
Result<void> NewFile::check_place() const {
    const Error moved{Errc::not_found, "its directory was moved or removed while the file was under way",
                      printable(name_)};
    const auto now = open_parent_beneath(root_->get(), name_);
    if (!now && (errno == ENOENT || errno == ENOTDIR)) return moved;
    if (!now) return file_error(errno, "cannot open its directory", name_);
    struct stat then_status {};
    struct stat now_status {};
    if (::fstat(parent_.get(), &then_status) != 0 || ::fstat(now.get(), &now_status) != 0)
        return file_error(errno, "cannot look at its directory", name_);
    if (then_status.st_dev != now_status.st_dev || then_status.st_ino != now_status.st_ino) return moved;
    return check_target(parent_.get(), leaf_, name_, existing_);
}

Result<void> NewFile::give_name() {
    const int staging = staging_->get();
    if (existing_ == Existing::replace) {
        if (::renameat(staging, staged_name_.c_str(), parent_.get(), leaf_.c_str()) == 0) return {};
        return file_error(errno, "cannot rename the file into place", name_);
    }
    if (::renameat2(staging, staged_name_.c_str(), parent_.get(), leaf_.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EINVAL || errno == ENOSYS) {
        // A file system without RENAME_NOREPLACE (NFS): a hard link is not made over an existing name either.
        if (::linkat(staging, staged_name_.c_str(), parent_.get(), leaf_.c_str(), 0) == 0) {
            (void)::unlinkat(staging, staged_name_.c_str(), 0);
            return {};
        }
    }
    return file_error(errno, "cannot rename the file into place", name_);
}

void NewFile::discard() noexcept {
    if (!staged_name_.empty()) (void)::unlinkat(staging_->get(), staged_name_.c_str(), 0);
    staged_name_.clear();
    file_.reset();
}

}  // namespace cinnabar::files
