// SPDX-License-Identifier: BSD-3-Clause
#include "file/journal.hpp"
#include "file/rename_staged.hpp"
#include "file/stored_checksum.hpp"

#include <cinnabar/base/whole_io.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/new_file.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace cinnabar::files {
namespace {

// Write-back is started after this many bytes, so that the final sync has little left to do and a large file does not
// fill the page cache with dirty pages.
constexpr std::uint64_t flush_bytes = 8u << 20;

constexpr std::size_t block_bytes = 4096;

bool is_zero(ConstBytes block) noexcept {
    return block[0] == std::byte{0} && std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

// zero_bytes(): the length of the run of all-zero blocks at the beginning; content_bytes(): the length up to the next
// all-zero block. The last block may be shorter.
std::size_t zero_bytes(ConstBytes bytes) noexcept {
    std::size_t at = 0;
    while (at < bytes.size() && is_zero(bytes.subspan(at, std::min(block_bytes, bytes.size() - at)))) at += block_bytes;
    return std::min(at, bytes.size());
}
std::size_t content_bytes(ConstBytes bytes) noexcept {
    std::size_t at = 0;
    while (at < bytes.size() && !is_zero(bytes.subspan(at, std::min(block_bytes, bytes.size() - at))))
        at += block_bytes;
    return std::min(at, bytes.size());
}

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept = default;

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
    attributes_ = std::move(other.attributes_);
    checksum_ = other.checksum_;
    sparse_ = other.sparse_;
    reserved_ = other.reserved_;
    bytes_ = other.bytes_;
    journal_ = std::move(other.journal_);
    found_ = other.found_;
    rewritten_ = other.rewritten_;
    journal_interval_ = other.journal_interval_;
    flushed_ = other.flushed_;
    return *this;
}

Result<void> NewFile::write(std::uint64_t offset, ConstBytes from) {
    return journal_ ? write_block(offset, from) : write_some(offset, from);
}

// Does not write blocks of zeros of a sparse file, so that they stay holes.
Result<void> NewFile::write_some(std::uint64_t offset, ConstBytes from) {
    if (!sparse_) return write_all(offset, from);
    while (!from.empty()) {
        const auto zero = zero_bytes(from);
        offset += zero;
        from = from.subspan(zero);
        const auto content = content_bytes(from);
        CINNABAR_TRY_VOID(write_all(offset, from.first(content)));
        offset += content;
        from = from.subspan(content);
    }
    return {};
}

Result<void> NewFile::write_all(std::uint64_t offset, ConstBytes from) {
    if (kept_.bytes != 0 && !reserved_) CINNABAR_TRY_VOID(check_room(file_->get(), from.size(), 0, kept_, name_));
    if (!write_whole(file_->get(), from, offset)) return file_error(errno, "cannot write the file", name_);
    offset += from.size();
    if (offset >= flushed_ + flush_bytes) {
        (void)::sync_file_range(file_->get(), static_cast<off_t>(flushed_), static_cast<off_t>(offset - flushed_),
                                SYNC_FILE_RANGE_WRITE);
        flushed_ = offset;
    }
    return {};
}

// On a file system without holes (vfat), a longer file takes its whole space at once. Therefore first makes the file
// one step longer; if that takes space, checks that the disk has room for the rest, as for files that are not sparse.
Result<void> NewFile::set_sparse(std::uint64_t bytes) {
    constexpr std::uint64_t step_bytes = 1u << 20;
    constexpr std::uint64_t stat_block_bytes = 512;
    struct stat before {};
    struct stat after {};
    if (::fstat(file_->get(), &before) != 0) return file_error(errno, "cannot look at the file", name_);
    const auto there = static_cast<std::uint64_t>(before.st_size);
    if (bytes > there && bytes - there > step_bytes) {
        if (::ftruncate(file_->get(), static_cast<off_t>(there + step_bytes)) != 0 ||
            ::fstat(file_->get(), &after) != 0)
            return file_error(errno, "cannot set the size of the file", name_);
        const auto taken = static_cast<std::uint64_t>(after.st_blocks - before.st_blocks) * stat_block_bytes;
        if (after.st_blocks > before.st_blocks && taken >= step_bytes)
            CINNABAR_TRY_VOID(check_room(file_->get(), bytes - there - step_bytes, 0, kept_, name_));
    }
    if (::ftruncate(file_->get(), static_cast<off_t>(bytes)) != 0)
        return file_error(errno, "cannot set the size of the file", name_);
    sparse_ = true;
    bytes_ = bytes;
    return {};
}

// Does not change the file's size, because the size tells how much has been written.
Result<void> NewFile::reserve(std::uint64_t bytes) {
    struct statfs system {};
    if (bytes < reserved_bytes_min || bytes > std::numeric_limits<off_t>::max()) return {};
    // tmpfs would allocate all pages now, which takes 0.1 to 0.3 s per GiB.
    if (::fstatfs(file_->get(), &system) != 0 || system.f_type == TMPFS_MAGIC) return {};
    int reserved = -1;
    do {
        reserved = ::fallocate(file_->get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
    } while (reserved != 0 && errno == EINTR);
    reserved_ = reserved == 0;
    // Any other error: the file system cannot reserve space. A later write reports a full disk.
    if (reserved_ || (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)) return {};
    return file_error(errno, "cannot reserve room for the file", name_);
}

// The kernel reports a sync error only once: after a failed checkpoint, the next fsync would succeed.
Result<void> NewFile::sync() {
    if (journal_) CINNABAR_TRY_VOID(journal_->failure());
    if (::fsync(file_->get()) != 0) return file_error(errno, "cannot sync the file", name_);
    return {};
}

Result<void> NewFile::make_ready(const BeforeNaming& before_naming, Sync how) {
    if (journal_ && ::fchmod(file_->get(), static_cast<mode_t>(journal_->head().final_mode)) != 0)
        return file_error(errno, "cannot set its permissions", name_);
    if (attributes_) CINNABAR_TRY_VOID(give_attributes(file_->get(), *attributes_, name_));
    if (checksum_) (void)store_checksum(file_->get(), *checksum_);
    if (how != Sync::none)
        CINNABAR_TRY_VOID(sync());
    else if (journal_)
        CINNABAR_TRY_VOID(journal_->failure());
    if (before_naming) CINNABAR_TRY_VOID(before_naming(file_->get()));
    return {};
}

Result<void> NewFile::settle(const BeforeNaming& before_naming, Sync how) {
    auto ready = make_ready(before_naming, how);
    if (!ready) discard();
    return ready;
}

Result<void> NewFile::take_name() const {
    const Target target{root_->get(), parent_->get(), leaf_, name_, existing_};
    CINNABAR_TRY_VOID(check_destination(target));
    return give_name(staging_->get(), staged_name_, target);
}

// Removes the journal last. If the process is killed before the rename, everything that the same save needs to continue
// is left. If it is killed after the rename, only the journal is left, which is of no use without a staged file. The
// next file of that name begins with an empty staged file, and then removes the journal; if the process is killed in
// between, the journal records blocks that the empty file does not have, so nothing is resumed from it.
Result<void> NewFile::appear() {
    if (journal_) journal_->finish();
    auto named = take_name();
    if (!named) {
        discard();
        return named;
    }
    staged_name_.clear();
    if (journal_) journal_->remove();
    journal_.reset();
    file_.reset();
    return named;
}

Result<void> NewFile::sync_folder() const { return files::sync_folder(parent_->get(), name_); }

Result<void> NewFile::commit(const BeforeNaming& before_naming, Sync how) {
    CINNABAR_TRY_VOID(settle(before_naming, how));
    CINNABAR_TRY_VOID(appear());
    return how == Sync::none ? Result<void>() : sync_folder();
}

// Removes the journal first: once the staged file is gone, the next file of that name may begin a journal under the
// same name, and that journal must stay.
void NewFile::discard() noexcept {
    if (!staged_name_.empty() && journal_) journal_->remove();
    if (!staged_name_.empty()) (void)::unlinkat(staging_->get(), staged_name_.c_str(), 0);
    staged_name_.clear();
    journal_.reset();
    file_.reset();
}

}  // namespace cinnabar::files
