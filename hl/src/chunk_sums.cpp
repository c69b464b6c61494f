// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/checksum.hpp>
#include <cinnabar/hl/chunk_sums.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

namespace cinnabar::hl {
namespace {

// Chunks in flight at a time.
constexpr std::uint64_t lanes_max = 8;

// One pull. Its lanes may run on several threads of a pool.
struct CheckedPull {
    const Bulk& from;
    const bulk::Region& into;
    const ChunkSums& sums;
    const TransferOptions& options;
    std::atomic<std::int64_t> again_left;
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> right{0};  // bytes whose checksum was correct
    std::atomic<bool> failed{false};

    [[nodiscard]] Error damaged(std::uint64_t chunk) const {
        Error error(Errc::bad_checksum, "the bytes do not match the checksum: pull again");
        error.subject = "chunk " + std::to_string(chunk) + " of " + std::to_string(sums.chunks()) + ", " +
                        std::to_string(right.load(std::memory_order_relaxed)) + " of " + std::to_string(sums.bytes()) +
                        " bytes were moved and right";
        return error;
    }
};

Task<Result<void>> pull_chunk(CheckedPull& pull, std::uint64_t chunk) {
    const std::uint64_t begin = chunk * pull.sums.chunk_bytes();
    const std::uint64_t bytes = std::min(pull.sums.chunk_bytes(), pull.sums.bytes() - begin);
    const bulk::Region part = pull.into.slice(begin, bytes);
    TransferOptions options{.offset = pull.options.offset + begin,
                            .bytes = bytes,
                            .stall = pull.options.stall,
                            .follow_owner = pull.options.follow_owner};
    do {
        const auto moved = co_await pull.from.pull(part, options);
        if (!moved) co_return moved.error();
        if (!pull.sums.matches(chunk, part)) continue;
        const std::uint64_t right = pull.right.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        if (pull.options.progress) (*pull.options.progress)(right);
        co_return Result<void>();
    } while (pull.again_left.fetch_sub(1, std::memory_order_relaxed) > 0);
    co_return pull.damaged(chunk);
}

Task<Result<void>> pull_chunks(CheckedPull& pull) {
    for (;;) {
        const std::uint64_t chunk = pull.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= pull.sums.chunks() || pull.failed.load(std::memory_order_relaxed)) co_return Result<void>();
        const auto done = co_await pull_chunk(pull, chunk);
        if (done) continue;
        pull.failed.store(true, std::memory_order_relaxed);
        co_return done.error();
    }
}

Task<Result<std::uint64_t>> pull_all(CheckedPull& pull) {
    std::vector<Task<Result<void>>> lanes;
    for (std::uint64_t i = 0; i < std::min(lanes_max, pull.sums.chunks()); ++i) lanes.push_back(pull_chunks(pull));
    for (const auto& ended : co_await when_all(std::move(lanes)))
        if (!ended) co_return ended.error();
    co_return pull.sums.bytes();
}

}  // namespace

ChunkSums ChunkSums::of(const bulk::Region& memory, std::uint64_t chunk_bytes) {
    CINNABAR_ASSERT(chunk_bytes > 0);
    ChunkSums made;
    made.chunk_bytes_ = chunk_bytes;
    made.bytes_ = memory.bytes();
    for (std::uint64_t at = 0; at < made.bytes_; at += std::min(chunk_bytes, made.bytes_ - at))
        made.sums_.push_back(bulk::checksum_of(memory.slice(at, std::min(chunk_bytes, made.bytes_ - at))));
    return made;
}

bool ChunkSums::matches(std::uint64_t chunk, const bulk::Region& content) const noexcept {
    CINNABAR_ASSERT(chunk < chunks());
    return bulk::checksum_of(content) == sums_[static_cast<std::size_t>(chunk)];
}

bool ChunkSums::plausible() const noexcept {
    return chunk_bytes_ > 0 && sums_.size() == bytes_ / chunk_bytes_ + (bytes_ % chunk_bytes_ != 0 ? 1 : 0);
}

Task<Result<std::uint64_t>> pull_checked(const Bulk& from, bulk::Region into, const ChunkSums& sums,
                                         TransferOptions options, std::uint32_t fetch_again_max) {
    if (into.is_far())
        co_return Error(Errc::unsupported,
                        "checksums of files and device memory are not supported: pull into host memory");
    if (into.bytes() < sums.bytes() || options.offset > from.size() || sums.bytes() > from.size() - options.offset)
        co_return Error(Errc::invalid_argument, "the memory is smaller than what the checksums cover");
    CheckedPull pull{from, into, sums, options, std::int64_t{fetch_again_max}};
    auto all = pull_all(pull);
    if (options.deadline) all = with_deadline(std::move(all), *options.deadline);
    auto outcome = co_await std::move(all);
    if (options.moved) *options.moved = pull.right.load(std::memory_order_relaxed);
    co_return outcome;
}

}  // namespace cinnabar::hl
