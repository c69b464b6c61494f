// SPDX-License-Identifier: BSD-3-Clause
// Blocks: a list of blocks of equal size, at regular distances (strided) or given by their numbers (indexed), in the
// order in which their bytes are moved. A Blocks is a plain value that is not tied to any memory, so one list can be
// used for many memories. On the wire a strided list takes about ten bytes; an indexed list takes two or three bytes
// for most blocks, and no byte for a block whose number follows the previous number (docs/wire-format-bulk.md, "Lists
// of blocks").
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cinnabar::bulk {

// Blocks per list; longer lists are refused.
inline constexpr std::uint64_t blocks_max = std::uint64_t{1} << 20;

// A contiguous range of bytes.
struct BlockPiece {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

class CINNABAR_API Blocks {
  public:
    // Blocks with consecutive numbers.
    struct Run {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        friend bool operator==(const Run&, const Run&) = default;
    };

    Blocks() = default;
    // Makes a list of `count` blocks. The first block begins at `offset`, and each further block `stride` bytes after
    // the beginning of the block before. invalid_argument: the list has no bytes, or ends beyond 2^63 - 1. too_large:
    // more than blocks_max blocks.
    [[nodiscard]] static Result<Blocks> strided(std::uint64_t offset, std::uint64_t block_bytes, std::uint64_t stride,
                                                std::uint64_t count);
    // Makes a list with one block for each number: block n begins at offset + n * stride. A `stride` of 0 stands for
    // block_bytes: consecutive numbers then name adjacent blocks. Errors: as strided().
    [[nodiscard]] static Result<Blocks> indexed(std::uint64_t block_bytes, std::span<const std::uint32_t> numbers,
                                                std::uint64_t offset = 0, std::uint64_t stride = 0);

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_bytes_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return count_ * block_bytes_; }  // of all blocks together
    // The largest end offset of any block.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
    // Whether any byte belongs to two blocks. Such a list can be read; a write would depend on the order.
    [[nodiscard]] bool overlap() const;
    // The same blocks at offsets larger by `bytes`. invalid_argument: as strided().
    [[nodiscard]] Result<Blocks> shifted(std::uint64_t bytes) const;

    [[nodiscard]] std::size_t encoded_bytes() const noexcept;
    // Fails the writer if the list does not fit.
    void encode(ByteWriter& writer) const noexcept;
    // Decodes a list that ends where the reader ends. Allocates at most sizeof(Run) for each byte read. protocol: the
    // bytes are malformed, or the list is empty or has more than blocks_max blocks. out_of_memory.
    [[nodiscard]] static Errc decode(ByteReader& reader, Blocks& out) noexcept;

    friend bool operator==(const Blocks&, const Blocks&) = default;

  private:
    friend class BlockParts;
    friend class BlockWalk;
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t number) const noexcept { return offset_ + number * stride_; }
    [[nodiscard]] bool side_by_side() const noexcept { return stride_ == block_bytes_; }
    void append(std::uint32_t first, std::uint32_t count);
    // Computes end_ and checks all limits.
    [[nodiscard]] Errc seal() noexcept;

    std::uint64_t offset_ = 0;
    std::uint64_t block_bytes_ = 0;
    std::uint64_t stride_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t end_ = 0;
    std::vector<Run> runs_;  // neighbouring runs are not consecutive
};

// Walks through the bytes of a list in order. The list must outlive it.
class CINNABAR_API BlockWalk {
  public:
    explicit BlockWalk(const Blocks& blocks) noexcept : blocks_(&blocks) {}
    // Returns the next contiguous bytes, at most bytes_max; false at the end. Adjacent blocks are one piece.
    [[nodiscard]] bool next(std::uint64_t bytes_max, BlockPiece& piece) noexcept;

  private:
    const Blocks* blocks_;
    std::size_t run_ = 0;
    std::uint64_t in_run_ = 0;    // blocks done
    std::uint64_t in_block_ = 0;  // bytes done
};

// Splits a list into shorter ones, in order. The list must outlive it.
class CINNABAR_API BlockParts {
  public:
    explicit BlockParts(const Blocks& blocks) noexcept : blocks_(&blocks) {}
    // Returns the next blocks, at most count_max; false at the end.
    [[nodiscard]] bool next(std::uint64_t count_max, Blocks& part);

  private:
    const Blocks* blocks_;
    std::size_t run_ = 0;
    std::uint32_t in_run_ = 0;  // blocks done
};

}  // namespace cinnabar::bulk
