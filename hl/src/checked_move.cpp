// SPDX-License-Identifier: BSD-3-Clause
#include "checked_move.hpp"

#include "far_sum.hpp"
#include "node_core.hpp"
#include "remote_staging.hpp"

#include <cinnabar/base/crc32c.hpp>
#include <cinnabar/hl/chunk_sums.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::hl::detail {
namespace {

// Chunks in flight at a time. A push also has a buffer for each of them, of a chunk at most.
constexpr std::uint64_t checked_lanes_max = 8;

// The chunks of one transfer. Its lanes may run on several threads of a pool.
struct CheckedChunks {
    const CheckedMove& move;
    const std::uint64_t bytes;
    const std::uint64_t chunk_bytes;
    std::atomic<std::int64_t> again_left;
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> right{0};  // bytes whose checksum was correct
    std::atomic<bool> failed{false};

    [[nodiscard]] bool pulls() const noexcept { return move.direction == bulk::Direction::pull; }
    [[nodiscard]] std::uint64_t count() const noexcept {
        return bytes / chunk_bytes + (bytes % chunk_bytes != 0 ? 1 : 0);
    }
    [[nodiscard]] TransferOp transfer(bulk::Direction direction, const bulk::Region& local,
                                      std::uint64_t offset) const {
        TransferOptions options;
        options.offset = move.options.offset + offset;
        options.bytes = local.bytes();
        options.stall = move.options.stall;
        options.follow_owner = move.options.follow_owner;
        TransferOp one(direction, *move.remote, local, options);
        if (move.request) return std::move(one).under(move.request);
        return std::move(one).with(*move.node, move.peer);
    }
    [[nodiscard]] Buffers& buffers() const noexcept {
        if (!move.request) return move.node->buffers();
        return static_cast<RequestState*>(move.request->user_data)->core().buffers();
    }
    [[nodiscard]] const na::Addr& peer() const noexcept { return move.request ? move.request->source() : move.peer; }
    [[nodiscard]] Error damaged(std::uint64_t chunk) const {
        Error error(Errc::bad_checksum, pulls() ? "the bytes do not match the checksum: pull again"
                                                : "the bytes that were read back differ: push again");
        error.subject = "chunk " + std::to_string(chunk) + " of " + std::to_string(count()) + ", " +
                        std::to_string(right.load(std::memory_order_relaxed)) + " of " + std::to_string(bytes) +
                        " bytes were moved and right";
        return error;
    }
};

// The checksum of a part of the remote memory, through a buffer of the node.
Task<Result<std::uint32_t>> sum_there(CheckedChunks& chunks, std::uint64_t begin, std::uint64_t bytes) {
    CINNABAR_CO_TRY(const Buffer buffer, take_staging(chunks.buffers(), bytes, chunks.peer()));
    std::uint32_t sum = 0;
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t step = std::min<std::uint64_t>(buffer.size(), bytes - done);
        const bulk::Region room = buffer.region().slice(0, step);
        TransferOp back = chunks.transfer(bulk::Direction::pull, room, begin + done);
        const Result<std::uint64_t> moved = co_await back;
        if (!moved) co_return moved.error();
        sum = crc32c(ConstBytes(buffer.bytes()).first(static_cast<std::size_t>(step)), sum);
        done += step;
    }
    co_return sum;
}

Task<Result<void>> move_chunk(CheckedChunks& chunks, std::uint64_t chunk) {
    const std::uint64_t begin = chunk * chunks.chunk_bytes;
    const std::uint64_t bytes = std::min(chunks.chunk_bytes, chunks.bytes - begin);
    const bulk::Region part = chunks.move.local.slice(begin, bytes);
    do {
        TransferOp one = chunks.transfer(chunks.move.direction, part, begin);
        const Result<std::uint64_t> moved = co_await one;
        if (!moved) co_return moved.error();
        const Result<std::uint32_t> here = co_await sum_of_any(part);
        if (!here) co_return here.error();
        std::uint32_t wanted = 0;
        if (chunks.pulls()) {
            wanted = chunks.move.options.sums->sum(chunk);
        } else {
            const Result<std::uint32_t> there = co_await sum_there(chunks, begin, bytes);
            if (!there) co_return there.error();
            wanted = *there;
        }
        if (*here != wanted) continue;
        const std::uint64_t right = chunks.right.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        if (chunks.move.options.progress) (*chunks.move.options.progress)(right);
        co_return Result<void>();
    } while (chunks.again_left.fetch_sub(1, std::memory_order_relaxed) > 0);
    co_return chunks.damaged(chunk);
}

Task<Result<void>> move_chunks(CheckedChunks& chunks) {
    for (;;) {
        const std::uint64_t chunk = chunks.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= chunks.count() || chunks.failed.load(std::memory_order_relaxed)) co_return Result<void>();
        const Result<void> done = co_await move_chunk(chunks, chunk);
        if (done) continue;
        chunks.failed.store(true, std::memory_order_relaxed);
        co_return done.error();
    }
}

Task<Result<std::uint64_t>> move_all_chunks(CheckedChunks& chunks) {
    std::vector<Task<Result<void>>> lanes;
    const std::uint64_t count = std::min(checked_lanes_max, chunks.count());
    for (std::uint64_t i = 0; i < count; ++i) lanes.push_back(move_chunks(chunks));
    const auto ends = co_await when_all(std::move(lanes));
    for (const Result<void>& ended : ends)
        if (!ended) co_return ended.error();
    co_return chunks.bytes;
}

// The number of bytes to move.
Result<std::uint64_t> bytes_of(const CheckedMove& move) {
    const TransferOptions& options = move.options;
    const bool pulls = move.direction == bulk::Direction::pull;
    if (options.blocks || options.notify)
        return Error(Errc::invalid_argument, "a transfer that is checked moves one range: leave out blocks and notify");
    if (pulls ? !options.sums : !options.read_back)
        return Error(Errc::invalid_argument, "pulls are checked by TransferOptions::sums, pushes by read_back");
    if (options.offset > move.remote->bytes())
        return Error(Errc::invalid_argument, "the offset lies beyond the end of the remote memory");
    const std::uint64_t both = std::min(move.remote->bytes() - options.offset, move.local.bytes());
    const std::uint64_t bytes = pulls ? options.sums->bytes() : options.bytes.value_or(both);
    if (bytes > both || options.bytes.value_or(bytes) != bytes)
        return Error(Errc::invalid_argument, "the memory is smaller than what the checksums cover");
    if (pulls && move.local.is_far() && !na::allows(move.local.access(), na::Access::read_write))
        return Error(Errc::permission, "the file or device memory is read to check it: make its region read_write");
    if (!pulls && !na::allows(move.remote->access(), na::Access::read))
        return Error(Errc::permission, "the bytes are read back to check them: lend the memory read_write");
    return bytes;
}

}  // namespace

Task<Result<std::uint64_t>> move_checked(CheckedMove move) {
    if (move.options.moved) *move.options.moved = 0;
    CINNABAR_CO_TRY(const std::uint64_t bytes, bytes_of(move));
    const std::uint64_t chunk_bytes =
        move.direction == bulk::Direction::pull ? move.options.sums->chunk_bytes() : ChunkSums::chunk_bytes_default;
    const std::uint32_t again_max = move.again_left ? *move.again_left : move.options.again_max;
    CheckedChunks chunks{move, bytes, chunk_bytes, std::int64_t{again_max}};
    auto all = move_all_chunks(chunks);
    if (move.options.deadline) all = with_deadline(std::move(all), *move.options.deadline);
    auto outcome = co_await std::move(all);
    const std::int64_t left = chunks.again_left.load(std::memory_order_relaxed);
    if (move.again_left) *move.again_left = left > 0 ? static_cast<std::uint32_t>(left) : 0;
    if (move.options.moved) *move.options.moved = chunks.right.load(std::memory_order_relaxed);
    co_return outcome;
}

}  // namespace cinnabar::hl::detail
