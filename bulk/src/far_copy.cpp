// SPDX-License-Identifier: BSD-3-Clause
#include "far_copy.hpp"

#include "far_ipc.hpp"
#include "far_segments.hpp"
#include "file_memory.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/work_threads.hpp>

#include <algorithm>

namespace cinnabar::bulk {
namespace {

// The far segment at `offset` or the next one after it; null: only host memory follows.
FarMemory* far_memory_from(const Region& region, std::uint64_t offset) noexcept {
    const auto ends = region.segment_ends();
    const auto far = region.far_segments();
    auto at =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), region.offset() + offset) - ends.begin());
    while (at < far.size() && !far[at].memory) ++at;
    return at < far.size() ? far[at].memory.get() : nullptr;
}

// Requires: the region is far.
WorkThreads& threads_of(const Region& region, std::uint64_t offset) noexcept {
    FarMemory* far = far_memory_from(region, offset);
    if (!far) far = far_memory_from(region.whole(), 0);
    return far->threads();
}

}  // namespace

void FarCopies::await() const noexcept {
    while (const std::uint32_t left = under_way_.load(std::memory_order_acquire)) under_way_.wait(left);
}

void FarCopy::begin(FarCopies& copies) noexcept {
    CINNABAR_DEBUG_ASSERT(!under_way() && region->is_far());
    copies_ = &copies;
    dropped_.store(false, std::memory_order_relaxed);
    end = {};
    work_.user = this;
    work_.run = &run;
    copies.under_way_.fetch_add(1, std::memory_order_relaxed);
    if (copies.at_once_) return run(work_);
    threads_of(*region, offset).queue(work_);
}

void FarCopy::run(WorkItem& work) noexcept {
    FarCopy& self = *static_cast<FarCopy*>(work.user);
    FarCopies& copies = *self.copies_;
    self.end = self.dropped_.load(std::memory_order_relaxed) ? FarEnd{Errc::canceled, 0} : self.copy();
    copies.context_.submit(self.done);  // the owner may reuse it from here on
    if (copies.under_way_.fetch_sub(1, std::memory_order_release) == 1) copies.under_way_.notify_all();
}

FarEnd FarCopy::copy() noexcept {
    if (to_show) return make_handle();
    if (shown) return copy_by_handle(*region, offset, bytes, *shown, into_region, dropped_);
    if (!buffer) return store_contents();
    if (may_pipe && buffer->may_have_pipe) {
        if (const FarEnd loaded = load_into_pipe(); loaded.code != Errc::unsupported) return loaded;
    }
    pin();
    return into_region ? region->store(offset, buffer->bytes(bytes)) : region->load(offset, buffer->bytes(bytes));
}

// Loads the range into the buffer's pipe. unsupported: nothing was loaded, because the range is not part of one file,
// or the buffer has no pipe, or the file cannot be spliced into a pipe.
FarEnd FarCopy::load_into_pipe() const noexcept {
    const FarSegment segment = far_segment_of(*region, offset, bytes);
    const auto* const file = dynamic_cast<const FileMemory*>(segment.memory.get());
    if (!file) return {Errc::unsupported, 0};
    if (!buffer->pipe) buffer->pipe = na::PipeMemory::make(buffer->memory->transport(), FarStaging::buffer_bytes);
    if (!buffer->pipe) return {Errc::unsupported, 0};
    return file->load_into(*buffer->pipe, segment.offset, static_cast<std::size_t>(bytes));
}

FarEnd FarCopy::make_handle() const noexcept {
    const FarSegment segment = device_segment(*region, offset, bytes);
    return segment.memory ? segment.memory->ipc_handle(segment.offset, *to_show) : FarEnd{Errc::unsupported, 0};
}

FarEnd FarCopy::store_contents() const noexcept {
    if (!blocks) return region->store(offset, from);
    BlockWalk walk(*blocks);
    BlockPiece piece;
    FarEnd stored;
    for (std::uint64_t at = 0; stored.code == Errc::ok && walk.next(bytes, piece); at += piece.bytes)
        stored = region->store(offset + at, from.subspan(piece.offset, piece.bytes));
    return stored;
}

// Pins the buffer for each kind of memory that the range touches.
void FarCopy::pin() noexcept {
    const auto ends = region->segment_ends();
    const auto far = region->far_segments();
    const std::uint64_t begin = region->offset() + offset;
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; at < far.size() && (at == 0 ? 0 : ends[at - 1]) < begin + bytes; ++at) {
        if (!far[at].memory) continue;
        FarBuffer::Pinned& pinned = buffer->pinned[static_cast<std::size_t>(far[at].memory->kind())];
        if (std::exchange(pinned.asked, true)) continue;
        pinned.hold = far[at].memory->pin(buffer->region.contiguous());
    }
}

}  // namespace cinnabar::bulk
