// SPDX-License-Identifier: BSD-3-Clause
#include "file/journal.hpp"

#include "file/checksum.hpp"
#include "file/own_file.hpp"
#include "file/xxh3.hpp"

#include <cinnabar/base/whole_io.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cinnabar::files {
namespace {

constexpr std::uint64_t magic = 0x314c4e524a424e43;  // "CNBJRNL1"
constexpr std::size_t fixed_bytes = 8 + 8 + 4 + 4 + 4 + 4 + 4;
static_assert(fixed_bytes + name_bytes_max + 8 <= journal_head_bytes_max);

}  // namespace

std::uint64_t block_checksum(ConstBytes block) noexcept { return xxh3(block); }

std::string encode_head(const JournalHead& head) {
    std::string text(fixed_bytes + head.name.size() + 8, '\0');
    ByteWriter to(std::as_writable_bytes(std::span(text)));
    to.u64(magic);
    to.u64(head.bytes);
    to.u32(head.block_bytes);
    to.u32(head.mode);
    to.u32(head.final_mode);
    to.u32(head.sparse ? 1 : 0);
    to.u32(static_cast<std::uint32_t>(head.name.size()));
    to.bytes(as_bytes(head.name));
    to.u64(block_checksum(to.written()));
    return text;
}

std::optional<DecodedHead> decode_head(ConstBytes bytes) {
    ByteReader from(bytes);
    DecodedHead result;
    const bool known = from.u64() == magic;
    result.head.bytes = from.u64();
    result.head.block_bytes = from.u32();
    result.head.mode = from.u32();
    result.head.final_mode = from.u32();
    result.head.sparse = from.u32() == 1;
    const auto name_bytes = from.u32();
    if (!known || name_bytes > name_bytes_max) return std::nullopt;
    result.head.name = as_text(from.view(name_bytes));
    const auto covered = fixed_bytes + name_bytes;
    const auto checksum = from.u64();
    if (!from.ok() || checksum != block_checksum(bytes.first(covered)) || result.head.block_bytes == 0)
        return std::nullopt;
    result.bytes = covered + 8;
    return result;
}

std::optional<Journal::Summary> Journal::read(int staging, const std::string& name) {
    const UniqueFd file(::openat(staging, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || !is_own_file(file.get(), status)) return std::nullopt;
    std::vector<std::byte> begin(journal_head_bytes_max);
    const auto count = read_at_most(file.get(), begin, 0);
    if (count < 0) return std::nullopt;
    auto decoded = decode_head(ConstBytes(begin).first(static_cast<std::size_t>(count)));
    if (!decoded) return std::nullopt;
    const auto bytes = static_cast<std::uint64_t>(status.st_size);  // it may have grown since
    const auto records = (std::max<std::uint64_t>(bytes, decoded->bytes) - decoded->bytes) / 8;
    const auto blocks = std::min(records, decoded->head.blocks());
    return Summary{std::move(decoded->head), decoded->bytes, blocks};
}

Result<std::shared_ptr<Journal>> Journal::begin(std::shared_ptr<const UniqueFd> staging, std::string name,
                                                std::shared_ptr<const UniqueFd> part, const JournalHead& head) {
    const auto text = encode_head(head);
    const UniqueFd file(
        ::openat(staging->get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || !write_whole(file.get(), as_bytes(text), 0)) {
        const int failed = errno;
        if (file) (void)::unlinkat(staging->get(), name.c_str(), 0);
        return file_error(failed, "cannot write the journal of the file", head.name);
    }
    return std::shared_ptr<Journal>(
        new Journal(std::move(staging), std::move(name), std::move(part), {head, text.size(), 0}));
}

std::shared_ptr<Journal> Journal::resume(std::shared_ptr<const UniqueFd> staging, std::string name,
                                         std::shared_ptr<const UniqueFd> part, const JournalHead& head) {
    auto summary = read(staging->get(), name);
    if (!summary || !summary->head.is_of_same_file(head)) return nullptr;
    return std::shared_ptr<Journal>(
        new Journal(std::move(staging), std::move(name), std::move(part), *std::move(summary)));
}

void Journal::add(std::uint64_t checksum) {
    const std::lock_guard lock(mutex_);
    added_.push_back(checksum);
}

bool Journal::is_due(std::chrono::milliseconds interval) {
    const std::lock_guard lock(mutex_);
    if (under_way_ || added_.empty() || std::chrono::steady_clock::now() - last_ < interval) return false;
    under_way_ = true;
    return true;
}

std::optional<std::uint64_t> Journal::checksum_of(std::uint64_t block) const {
    const std::lock_guard lock(files_);
    if (block >= blocks_) return std::nullopt;
    if (block < read_from_ || block - read_from_ >= read_.size()) read_records(block);
    if (block < read_from_ || block - read_from_ >= read_.size()) return std::nullopt;
    return read_[static_cast<std::size_t>(block - read_from_)];
}

// Blocks are looked up in the order of the file, so the records after `block` are read with it.
void Journal::read_records(std::uint64_t block) const {
    read_from_ = block;
    read_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(blocks_ - block, records_read_at_once)));
    const UniqueFd file(::openat(staging_->get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const auto to = std::as_writable_bytes(std::span(read_));
    const auto count = file ? read_at_most(file.get(), to, offset_of(block)) : ssize_t{-1};
    read_.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)) / sizeof(std::uint64_t));
}

std::uint64_t Journal::checksum_of_zeros(std::uint64_t bytes) {
    if (zeros_bytes_ == bytes) return zeros_checksum_;
    Checksum sum;
    sum.update_zeros(bytes);
    zeros_bytes_ = bytes;
    return zeros_checksum_ = sum.digest();
}

Result<void> Journal::cut(std::uint64_t blocks) {
    const std::lock_guard lock(files_);
    const UniqueFd file(::openat(staging_->get(), name_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(offset_of(blocks))) != 0 || ::fdatasync(file.get()) != 0)
        return file_error(errno, "cannot cut the journal of the file", head_.name);
    blocks_ = blocks;
    read_.clear();  // other records may be appended behind the cut
    return {};
}

void Journal::checkpoint() {
    const std::lock_guard files(files_);
    std::vector<std::uint64_t> checksums;
    {
        const std::lock_guard lock(mutex_);
        checksums.swap(added_);
    }
    if (!checksums.empty() && !broken_ && !append(checksums)) broken_ = true;
    const std::lock_guard lock(mutex_);
    under_way_ = false;
    last_ = std::chrono::steady_clock::now();
}

bool Journal::append(const std::vector<std::uint64_t>& checksums) {
    if (::fdatasync(part_->get()) != 0) {
        sync_errno_ = errno;
        return false;
    }
    const UniqueFd file(::openat(staging_->get(), name_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || !write_whole(file.get(), std::as_bytes(std::span(checksums)), offset_of(blocks_))) return false;
    if (::fdatasync(file.get()) != 0) return false;
    blocks_ += checksums.size();
    return true;
}

Result<void> Journal::failure() const {
    const std::lock_guard lock(files_);
    if (sync_errno_ != 0) return file_error(sync_errno_, "cannot sync the file", head_.name);
    return {};
}

std::uint64_t Journal::blocks() const {
    const std::lock_guard lock(files_);
    return blocks_;
}

void Journal::finish() noexcept {
    const std::lock_guard lock(files_);
    broken_ = true;
    held_ = UniqueFd(::openat(staging_->get(), name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// False if the journal is not held.
bool Journal::is_of_another_file() const noexcept {
    struct stat own {};
    struct stat found {};
    return held_ && ::fstat(held_.get(), &own) == 0 &&
           ::fstatat(staging_->get(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           (own.st_ino != found.st_ino || own.st_dev != found.st_dev);
}

// Marks the journal as broken, because a later checkpoint would otherwise write into the journal of the next file of
// that name.
void Journal::remove() noexcept {
    const std::lock_guard lock(files_);
    broken_ = true;
    if (!is_of_another_file()) (void)::unlinkat(staging_->get(), name_.c_str(), 0);
}

}  // namespace cinnabar::files
