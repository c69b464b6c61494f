// SPDX-License-Identifier: BSD-3-Clause
#include "far_ipc.hpp"

#include "far_segments.hpp"

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

FarSegment device_segment(const Region& region, std::uint64_t offset, std::uint64_t bytes) noexcept {
    FarSegment segment = far_segment_of(region, offset, bytes);
    if (segment.memory && segment.memory->kind() == MemoryKind::file) return {};
    return segment;
}

FarEnd copy_by_handle(const Region& region, std::uint64_t offset, std::uint64_t bytes, const IpcHandle& handle,
                      bool into_region, const std::atomic<bool>& dropped) noexcept {
    FarMemory* first = nullptr;
    const auto find_first = [&](std::size_t at, std::uint64_t, std::uint64_t, std::uint64_t) noexcept {
        FarMemory* const memory = region.is_far() ? region.far_segments()[at].memory.get() : nullptr;
        if (!memory || memory->kind() != handle.kind) return FarEnd{Errc::unsupported, 0};
        if (!first) first = memory;
        return FarEnd();
    };
    const std::uint64_t begin = region.offset() + offset;
    if (handle.kind == MemoryKind::host || handle.kind == MemoryKind::file) return {Errc::unsupported, 0};
    FarEnd end = each_segment(region, begin, bytes, find_first);
    if (end.code != Errc::ok || !first) return end;
    const auto there = first->open_ipc(handle, bytes, end);
    if (!there) return end;
    const auto copy = [&](std::size_t at, std::uint64_t skip, std::uint64_t done, std::uint64_t take) noexcept {
        const FarSegment& here = region.far_segments()[at];
        FarEnd copied;
        for (std::uint64_t in = 0; copied.code == Errc::ok && in < take; in += ipc_piece_bytes) {
            if (dropped.load(std::memory_order_relaxed)) return FarEnd{Errc::canceled, 0};
            const std::uint64_t piece = std::min(take - in, ipc_piece_bytes);
            const std::uint64_t from = here.offset + skip + in;
            copied = into_region ? here.memory->store_from(from, *there, done + in, piece)
                                 : here.memory->load_into(from, *there, done + in, piece);
        }
        return copied;
    };
    end = each_segment(region, begin, bytes, copy);
    // A part may have been copied already, so staging buffers can no longer be used instead.
    if (end.code == Errc::unsupported) end.code = Errc::io;
    const FarEnd closed = there->close();
    return end.code == Errc::ok ? closed : end;
}

}  // namespace cinnabar::bulk
