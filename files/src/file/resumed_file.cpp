// SPDX-License-Identifier: BSD-3-Clause
// The functions of NewFile for resumable files: they use the remains of an earlier save, and leave remains for a later
// one. staging.cpp finds and locks remains.
#include "file/arriving_sum.hpp"
#include "file/checksum.hpp"
#include "file/dated.hpp"
#include "file/journal.hpp"
#include "file/staging.hpp"

#include <cinnabar/base/whole_io.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/new_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cinnabar::files {
namespace {

// Overwrites a range with zeros, by a hole where possible.
Result<void> clear(int fd, std::uint64_t offset, std::uint64_t bytes, std::string_view name) {
    if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes)) == 0)
        return {};
    static constexpr std::array<std::byte, 64 << 10> zeros{};
    while (bytes > 0) {
        const auto count = std::min<std::uint64_t>(bytes, zeros.size());
        if (!write_whole(fd, ConstBytes(zeros).first(count), offset))
            return file_error(errno, "cannot write the file", name);
        offset += count;
        bytes -= count;
    }
    return {};
}

}  // namespace

// Cuts the journal before the file, so that it never records more than the file has.
Result<void> NewFile::cut(std::uint64_t offset) {
    CINNABAR_TRY_VOID(journal_->cut(offset / journal_->head().block_bytes));
    journal_->set_resumed_bytes(offset);
    reserved_ = false;
    const bool done = ::ftruncate(file_->get(), static_cast<off_t>(offset)) == 0 &&
                      (!sparse_ || ::ftruncate(file_->get(), static_cast<off_t>(bytes_)) == 0);
    if (!done) return file_error(errno, "cannot cut the staged file", name_);
    return {};
}

Result<void> NewFile::use_other_than(std::uint64_t offset, std::uint64_t checksum) {
    if (offset >= resumed_bytes() || journal_->checksum_of(offset / journal_->head().block_bytes) == checksum)
        return {};
    return cut(offset);
}

Result<void> NewFile::write_block(std::uint64_t offset, ConstBytes from) {
    const auto checksum = block_checksum(from);
    CINNABAR_TRY_VOID(use_other_than(offset, checksum));
    if (offset < resumed_bytes()) {  // damaged on disk; the journal is right
        rewritten_ = true;
        return write_all(offset, from);
    }
    CINNABAR_TRY_VOID(write_some(offset, from));
    journal_->add(checksum);
    return {};
}

Result<void> NewFile::leave_out(std::uint64_t offset, std::uint64_t bytes) {
    if (!journal_) return {};
    const auto checksum = journal_->checksum_of_zeros(bytes);
    CINNABAR_TRY_VOID(use_other_than(offset, checksum));
    if (offset < resumed_bytes()) {
        rewritten_ = true;
        return clear(file_->get(), offset, bytes, name_);
    }
    journal_->add(checksum);
    return {};
}

std::optional<std::uint64_t> NewFile::read_block(std::uint64_t offset, Bytes to) const {
    if (offset >= resumed_bytes()) return std::nullopt;
    const auto promised = journal_->checksum_of(offset / journal_->head().block_bytes);
    if (!promised || read_at_most(file_->get(), to, offset) != static_cast<ssize_t>(to.size())) return std::nullopt;
    return block_checksum(to) == *promised ? promised : std::nullopt;
}

Result<bool> NewFile::find_block(std::uint64_t offset, Bytes to, std::uint64_t checksum) {
    CINNABAR_TRY_VOID(use_other_than(offset, checksum));
    return read_block(offset, to) == checksum;
}

// After use_other_than(), either the journal has `checksum` for this block, or nothing is left from `offset` on. So it
// is enough to compare the content of the block with `checksum`.
Result<bool> NewFile::verify_block(std::uint64_t offset, std::uint64_t bytes, std::uint64_t checksum, Bytes scratch,
                                   ArrivingSum& sum) {
    CINNABAR_TRY_VOID(use_other_than(offset, checksum));
    if (offset >= resumed_bytes()) return false;
    Checksum block;
    ArrivingSum with_block = sum;
    for (std::uint64_t done = 0; done < bytes;) {
        const auto count = std::min<std::uint64_t>(scratch.size(), bytes - done);
        const Bytes piece = scratch.first(static_cast<std::size_t>(count));
        if (read_at_most(file_->get(), piece, offset + done) != static_cast<ssize_t>(piece.size())) return false;
        block.update(piece);
        with_block.update(piece);
        done += piece.size();
    }
    if (block.digest() != checksum) return false;
    sum = std::move(with_block);
    return true;
}

std::uint64_t NewFile::resumed_bytes() const noexcept { return journal_ ? journal_->resumed_bytes() : 0; }

std::shared_ptr<Journal> NewFile::due_journal() {
    return journal_ && journal_->is_due(journal_interval_) ? journal_ : nullptr;
}

// The next save may use the part that is reported to `left` without reading it again, so all of it has to be on disk.
void NewFile::park(const Left& left) noexcept {
    if (!journal_ || staged_name_.empty()) return discard();
    journal_->checkpoint();
    if (!journal_->failure() || journal_->blocks() == 0) return discard();
    if (left && rewritten_ && ::fdatasync(file_->get()) != 0) return discard();
    release_reserved(file_->get());
    if (left) {
        if (const auto state = final_stamp(file_->get())) left(*state);
    }
    staged_name_.clear();
    journal_.reset();
    file_.reset();
}

}  // namespace cinnabar::files
