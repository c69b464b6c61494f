// SPDX-License-Identifier: BSD-3-Clause
// End-to-end checksums of memory that moves in bulk, one per chunk. The side that lends the memory computes the
// checksums and sends them along. The side that pulls the memory checks each chunk that has arrived, and fetches
// damaged chunks again:
//
//     struct SaveIn { cinnabar::Bulk data; cinnabar::ChunkSums sums; };
//     node.call(save, peer, SaveIn{region, ChunkSums::of(region)});
//     // in the handler
//     Result<std::uint64_t> moved = co_await request->data.pull(buffer, {.sums = &request->sums});
//
// The memory must not change from the moment the sums are computed until the call has ended.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/rpc/proc_std.hpp>

#include <cstdint>
#include <vector>

namespace cinnabar::hl {

// The CRC-32C of each chunk. A plain value that travels in calls and results.
class CINNABAR_API ChunkSums {
  public:
    static constexpr std::uint64_t proc_shape = 0x736d7573;
    static constexpr bool proc_borrows = false;
    static constexpr std::uint64_t chunk_bytes_default = std::uint64_t{1} << 20;

    ChunkSums() = default;
    // Reads all of the memory. Requires: chunk_bytes is not 0; the memory is neither a file nor device memory.
    [[nodiscard]] static ChunkSums of(const bulk::Region& memory, std::uint64_t chunk_bytes = chunk_bytes_default);

    // Like of(), for memory of any kind. Files and device memory are read on threads of their own. Requires:
    // chunk_bytes is not 0. Errors: those of reading; canceled and timed_out, if the task is stopped or its deadline
    // passes.
    [[nodiscard]] static Task<Result<ChunkSums>> read(bulk::Region memory,
                                                      std::uint64_t chunk_bytes = chunk_bytes_default);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }
    [[nodiscard]] std::uint64_t chunks() const noexcept { return sums_.size(); }
    // Requires: there is such a chunk.
    [[nodiscard]] std::uint32_t sum(std::uint64_t chunk) const noexcept;
    // Returns the checksums of `count` chunks from `first` on. Requires: there are such chunks.
    [[nodiscard]] ChunkSums part(std::uint64_t first, std::uint64_t count) const;
    // Whether `content` has the checksum of that chunk. Requires: there is such a chunk; the content is not far.
    [[nodiscard]] bool matches(std::uint64_t chunk, const bulk::Region& content) const noexcept;

    template <class P>
    void proc(P& p) {
        p(chunk_bytes_, bytes_, sums_);
        if constexpr (P::decoding) {
            if (!plausible()) p.fail(Errc::protocol);
        }
    }

  private:
    // Whether there are as many sums as chunks.
    [[nodiscard]] bool plausible() const noexcept;

    std::uint64_t chunk_bytes_ = chunk_bytes_default;
    std::uint64_t bytes_ = 0;
    std::vector<std::uint32_t> sums_;
};

// Pulls the memory that the sums cover, like Bulk::pull with TransferOptions::sums and again_max; `bytes`, `blocks` and
// `notify` are not used. `options.offset`: where the memory that the sums cover begins in the remote memory. `from` and
// `sums` must live until the pull has ended, as members of a request do. Returns the number of bytes.
[[nodiscard]] CINNABAR_API Task<Result<std::uint64_t>> pull_checked(const Bulk& from, bulk::Region into,
                                                                    const ChunkSums& sums, TransferOptions options = {},
                                                                    std::uint32_t fetch_again_max = again_max_default);

}  // namespace cinnabar::hl

namespace cinnabar {

using hl::ChunkSums;
using hl::pull_checked;

}  // namespace cinnabar
