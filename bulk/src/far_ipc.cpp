// SPDX-License-Identifier: BSD-3-Clause
#include "far_ipc.hpp"

#include <algorithm>
#include <cstddef>

namespace cinnabar::bulk {

FarEnd FarMemory::ipc_handle(std::uint64_t, IpcHandle&) noexcept { return {Errc::unsupported, 0}; }
std::unique_ptr<IpcMemory> FarMemory::open_ipc(const IpcHandle&, std::uint64_t, FarEnd& end) noexcept {
    end = {Errc::unsupported, 0};
    return nullptr;
}
FarEnd FarMemory::load_into(std::uint64_t, IpcMemory&, std::uint64_t, std::uint64_t) noexcept {
    return {Errc::unsupported, 0};
}
FarEnd FarMemory::store_from(std::uint64_t, const IpcMemory&, std::uint64_t, std::uint64_t) noexcept {
    return {Errc::unsupported, 0};
}

namespace {

// What one segment has of a range.
struct Part {
    const FarSegment* segment = nullptr;  // null: host memory
    std::uint64_t offset = 0;             // in its memory
    std::uint64_t bytes = 0;
};

// Where the range begins. `offset` is in the slice.
Part part_at(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const auto ends = region.segment_ends();
    const std::uint64_t begin = region.offset() + offset;
    const auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    Part part;
    part.bytes = std::min(bytes, ends[at] - begin);
    if (!region.is_far() || !region.far_segments()[at].memory) return part;
    part.segment = &region.far_segments()[at];
    part.offset = part.segment->offset + (begin - (at == 0 ? 0 : ends[at - 1]));
    return part;
}

bool is_all_of(MemoryKind kind, const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept {
    for (std::uint64_t done = 0; done < bytes;) {
        const Part part = part_at(region, offset + done, bytes - done);
        if (!part.segment || part.segment->memory->kind() != kind) return false;
        done += part.bytes;
    }
    return true;
}

}  // namespace

FarSegment device_segment(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const Part part = part_at(region, offset, bytes);
    if (!part.segment || part.bytes < bytes || part.segment->memory->kind() == MemoryKind::file) return {};
    return {part.segment->memory, part.offset};
}

FarEnd copy_by_handle(const Region& region, std::uint64_t offset, std::uint64_t bytes, const IpcHandle& handle,
                      bool into_region, const std::atomic<bool>& dropped) noexcept {
    if (handle.kind == MemoryKind::host || handle.kind == MemoryKind::file ||
        !is_all_of(handle.kind, region, offset, bytes))
        return {Errc::unsupported, 0};
    FarEnd end;
    const auto there = part_at(region, offset, bytes).segment->memory->open_ipc(handle, bytes, end);
    if (!there) return end;
    for (std::uint64_t done = 0; end.code == Errc::ok && done < bytes;) {
        const Part part = part_at(region, offset + done, std::min(bytes - done, ipc_piece_bytes));
        FarMemory& here = *part.segment->memory;
        if (dropped.load(std::memory_order_relaxed)) {
            end = {Errc::canceled, 0};
        } else {
            end = into_region ? here.store_from(part.offset, *there, done, part.bytes)
                              : here.load_into(part.offset, *there, done, part.bytes);
        }
        // Something was opened, so that nothing is left to fall back on.
        if (end.code == Errc::unsupported) end.code = Errc::io;
        done += part.bytes;
    }
    const FarEnd closed = there->close();
    return end.code == Errc::ok ? closed : end;
}

}  // namespace cinnabar::bulk
