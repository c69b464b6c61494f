// SPDX-License-Identifier: BSD-3-Clause
// Keep docs/wire-format-bulk.md, "Lists of blocks", in sync.
#include "varint.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/blocks.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace cinnabar::bulk {
namespace {

constexpr std::uint8_t list_version = 1;
constexpr std::uint64_t end_max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t numbers_max = std::uint64_t{1} << 32;

Error bad_list(Errc code) {
    return code == Errc::too_large
               ? Error(code, "more than blocks_max blocks in one list: split it")
               : Error(code, "a list of blocks needs at least one block of one byte, and ends below 2^63");
}

// The encoded start of a run: its distance from `next`, the block that would follow the previous run.
std::uint64_t jump_to(std::uint32_t first, std::uint64_t next) noexcept {
    return zigzag(static_cast<std::int64_t>(first) - static_cast<std::int64_t>(next));
}

}  // namespace

void Blocks::append(std::uint32_t first, std::uint32_t count) {
    count_ += count;
    if (!runs_.empty() && std::uint64_t{runs_.back().first} + runs_.back().count == first)
        runs_.back().count += count;
    else
        runs_.push_back({first, count});
}

Errc Blocks::seal() noexcept {
    std::uint64_t last = 0;
    for (const Run& run : runs_) last = std::max(last, std::uint64_t{run.first} + run.count - 1);
    std::uint64_t reach = 0;
    const bool wraps = __builtin_mul_overflow(last, stride_, &reach) ||
                       __builtin_add_overflow(reach, offset_, &reach) ||
                       __builtin_add_overflow(reach, block_bytes_, &end_);
    std::uint64_t bytes = 0;
    if (count_ == 0 || block_bytes_ == 0 || wraps || end_ > end_max) return Errc::invalid_argument;
    if (__builtin_mul_overflow(count_, block_bytes_, &bytes) || bytes > end_max) return Errc::invalid_argument;
    return count_ > blocks_max ? Errc::too_large : Errc::ok;
}

Result<Blocks> Blocks::strided(std::uint64_t offset, std::uint64_t block_bytes, std::uint64_t stride,
                               std::uint64_t count) {
    if (count > blocks_max) return bad_list(Errc::too_large);
    Blocks made;
    made.offset_ = offset;
    made.block_bytes_ = block_bytes;
    made.stride_ = stride;
    if (count > 0) made.append(0, static_cast<std::uint32_t>(count));
    if (const Errc bad = made.seal(); bad != Errc::ok) return bad_list(bad);
    return made;
}

Result<Blocks> Blocks::indexed(std::uint64_t block_bytes, std::span<const std::uint32_t> numbers, std::uint64_t offset,
                               std::uint64_t stride) {
    if (numbers.size() > blocks_max) return bad_list(Errc::too_large);
    Blocks made;
    made.offset_ = offset;
    made.block_bytes_ = block_bytes;
    made.stride_ = stride == 0 ? block_bytes : stride;
    made.runs_.reserve(numbers.size());
    for (const std::uint32_t number : numbers) made.append(number, 1);
    if (const Errc bad = made.seal(); bad != Errc::ok) return bad_list(bad);
    return made;
}

bool Blocks::overlap() const {
    if (stride_ < block_bytes_ && std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return r.count > 1; }))
        return true;
    const auto collide = [this](const Run& before, const Run& after) {
        const std::uint64_t last = std::uint64_t{before.first} + before.count - 1;
        return last >= after.first || offset_of(last) + block_bytes_ > offset_of(after.first);
    };
    // Quick test first: most lists ascend.
    if (std::adjacent_find(runs_.begin(), runs_.end(), collide) == runs_.end()) return false;
    std::vector<Run> sorted = runs_;
    std::sort(sorted.begin(), sorted.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
    return std::adjacent_find(sorted.begin(), sorted.end(), collide) != sorted.end();
}

Result<Blocks> Blocks::shifted(std::uint64_t bytes) const {
    Blocks made(*this);
    if (bytes > end_max - end_) return bad_list(Errc::invalid_argument);
    made.offset_ += bytes;
    made.end_ += bytes;
    return made;
}

std::size_t Blocks::encoded_bytes() const noexcept {
    std::size_t bytes =
        1 + varint_bytes(offset_) + varint_bytes(block_bytes_) + varint_bytes(stride_) + varint_bytes(count_);
    std::uint64_t next = 0;
    for (const Run& run : runs_) {
        const std::uint64_t jump = jump_to(run.first, next);
        const std::uint32_t follow = jump == 0 ? run.count : run.count - 1;
        if (jump != 0) bytes += varint_bytes(jump);
        if (follow > 0) bytes += 1 + varint_bytes(follow - 1);
        next = std::uint64_t{run.first} + run.count;
    }
    return bytes;
}

void Blocks::encode(ByteWriter& writer) const noexcept {
    writer.u8(list_version);
    for (const std::uint64_t value : {offset_, block_bytes_, stride_, count_}) write_varint(value, writer);
    std::uint64_t next = 0;
    for (const Run& run : runs_) {
        const std::uint64_t jump = jump_to(run.first, next);
        const std::uint32_t follow = jump == 0 ? run.count : run.count - 1;
        if (jump != 0) write_varint(jump, writer);
        if (follow > 0) {
            writer.u8(0);
            write_varint(follow - 1, writer);
        }
        next = std::uint64_t{run.first} + run.count;
    }
}

Errc Blocks::decode(ByteReader& reader, Blocks& out) noexcept {
    out = Blocks();
    Blocks made;
    const std::uint8_t version = reader.u8();
    made.offset_ = read_varint(reader);
    made.block_bytes_ = read_varint(reader);
    made.stride_ = read_varint(reader);
    const std::uint64_t count = read_varint(reader);
    if (!reader.ok() || version != list_version || count == 0 || count > blocks_max) return Errc::protocol;
    try {
        std::uint64_t next = 0;
        while (made.count_ < count) {
            const std::uint64_t jump = read_varint(reader);
            const std::uint64_t follow = jump == 0 ? read_varint(reader) : 0;
            if (!reader.ok() || follow >= count - made.count_ || jump >= 2 * numbers_max) return Errc::protocol;
            const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(next) + unzigzag(jump));
            if (first >= numbers_max || follow >= numbers_max - first) return Errc::protocol;
            made.append(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(follow + 1));
            next = first + follow + 1;
        }
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    if (reader.left() != 0 || made.seal() != Errc::ok) return Errc::protocol;
    out = std::move(made);
    return Errc::ok;
}

bool BlockWalk::next(std::uint64_t bytes_max, BlockPiece& piece) noexcept {
    const Blocks& list = *blocks_;
    if (run_ == list.runs_.size() || bytes_max == 0) return false;
    const Blocks::Run& run = list.runs_[run_];
    const std::uint64_t blocks = list.side_by_side() ? run.count - in_run_ : 1;
    piece.offset = list.offset_of(run.first + in_run_) + in_block_;
    piece.bytes = std::min(blocks * list.block_bytes_ - in_block_, bytes_max);
    const std::uint64_t done = in_block_ + piece.bytes;
    in_run_ += done / list.block_bytes_;
    in_block_ = done % list.block_bytes_;
    if (in_run_ == run.count) {
        ++run_;
        in_run_ = 0;
    }
    return true;
}

bool BlockParts::next(std::uint64_t count_max, Blocks& part) {
    part = Blocks();
    part.offset_ = blocks_->offset_;
    part.block_bytes_ = blocks_->block_bytes_;
    part.stride_ = blocks_->stride_;
    while (run_ < blocks_->runs_.size() && part.count_ < count_max) {
        const Blocks::Run& run = blocks_->runs_[run_];
        const auto take =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(run.count - in_run_, count_max - part.count_));
        part.append(run.first + in_run_, take);
        in_run_ += take;
        if (in_run_ < run.count) break;
        ++run_;
        in_run_ = 0;
    }
    return part.seal() == Errc::ok;
}

}  // namespace cinnabar::bulk
