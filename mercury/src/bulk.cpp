// SPDX-License-Identifier: BSD-3-Clause
#include "bulk.hpp"

#include "context.hpp"
#include "errors.hpp"

#include <cinnabar/bulk/device_memory.hpp>

#include <algorithm>

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;

namespace {

na::Access access_of(std::uint8_t flags) { return static_cast<na::Access>(flags & HG_BULK_READWRITE); }

hg_return_t expose(hg_bulk& bulk, void** buffers, const hg_size_t* sizes) {
    const na::Access access = access_of(bulk.flags);
    if (!buffers && bulk.bytes != 0) {
        auto region = bulk::Region::allocate(bulk.bytes, access, bulk.owner->engine->transports().front());
        if (!region) return failed("HG_Bulk_create", region.error());
        bulk.local = *std::move(region);
    }
    std::byte* next = bulk.local ? bulk.local.contiguous().data() : nullptr;
    std::vector<na::Segment> filled;
    for (std::uint32_t i = 0; i < bulk.segment_count; ++i) {
        const na::Segment segment{buffers ? static_cast<std::byte*>(buffers[i]) : next, sizes[i]};
        if (segment.bytes != 0 && !segment.base) return HG_INVALID_ARG;
        if (!buffers && next) next += segment.bytes;
        bulk.segments.push_back(segment);
        if (segment.bytes != 0) filled.push_back(segment);
    }
    if (!buffers || filled.empty()) return HG_SUCCESS;
    auto region = bulk::Region::expose(filled, access);
    if (!region) return failed("HG_Bulk_create", region.error());
    bulk.local = *std::move(region);
    return HG_SUCCESS;
}

// `host`: not memory of a supported kind of device.
bulk::MemoryKind kind_of(hg_mem_type_t type) {
    switch (type) {
        case HG_MEM_TYPE_CUDA:
            return bulk::MemoryKind::cuda;
        case HG_MEM_TYPE_ROCM:
            return bulk::MemoryKind::rocm;
        case HG_MEM_TYPE_ZE:
            return bulk::MemoryKind::level_zero;
        default:
            return bulk::MemoryKind::host;
    }
}

// Device memory: each segment is a region, and the handle joins them.
hg_return_t expose_device(hg_bulk& bulk, bulk::MemoryKind kind, void** buffers, const hg_size_t* sizes) {
    if (!buffers)
        return failed("HG_Bulk_create: memory of devices is not allocated here: give the buffers", HG_OPNOTSUPPORTED);
    const na::Access access = access_of(bulk.flags);
    std::vector<bulk::Region> parts;
    for (std::uint32_t i = 0; i < bulk.segment_count; ++i) {
        bulk.segments.push_back({static_cast<std::byte*>(buffers[i]), sizes[i]});
        if (sizes[i] == 0) continue;
        auto memory = bulk::device_memory(kind, buffers[i], sizes[i]);
        if (!memory) return failed("HG_Bulk_create", memory.error());
        auto part = bulk::Region::of_far(*std::move(memory), access);
        if (!part) return failed("HG_Bulk_create", part.error());
        parts.push_back(*std::move(part));
    }
    if (parts.empty()) return HG_SUCCESS;
    auto region = bulk::Region::join(parts, access);
    if (!region) return failed("HG_Bulk_create", region.error());
    bulk.local = *std::move(region);
    return HG_SUCCESS;
}

}  // namespace

hg_return_t HG_Bulk_create(hg_class_t* hg_class, uint32_t count, void** buf_ptrs, const hg_size_t* buf_sizes,
                           uint8_t flags, hg_bulk_t* handle) {
    return HG_Bulk_create_attr(hg_class, count, buf_ptrs, buf_sizes, flags, nullptr, handle);
}

hg_return_t HG_Bulk_create_attr(hg_class_t* hg_class, uint32_t count, void** buf_ptrs, const hg_size_t* buf_sizes,
                                uint8_t flags, const struct hg_bulk_attr* attrs, hg_bulk_t* handle) {
    if (!hg_class || count == 0 || !buf_sizes || !handle) return HG_INVALID_ARG;
    if (flags == 0 || flags > HG_BULK_READWRITE) return HG_INVALID_ARG;
    const bulk::MemoryKind kind = attrs ? kind_of(attrs->mem_type) : bulk::MemoryKind::host;
    const bool is_device = kind != bulk::MemoryKind::host;
    if (attrs && attrs->mem_type != HG_MEM_TYPE_HOST && !is_device)
        return failed("HG_Bulk_create: not a known type of memory", HG_OPNOTSUPPORTED);
    return guarded([&] {
        auto made = std::make_unique<hg_bulk>();
        made->owner = made->bound.owner = hg_class;
        made->segment_count = count;
        made->flags = flags;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (made->bytes + buf_sizes[i] < made->bytes) return HG_INVALID_ARG;
            made->bytes += buf_sizes[i];
        }
        const hg_return_t exposed =
            is_device ? expose_device(*made, kind, buf_ptrs, buf_sizes) : expose(*made, buf_ptrs, buf_sizes);
        if (exposed != HG_SUCCESS) return exposed;
        ++hg_class->bulks;
        *handle = made.release();
        return HG_SUCCESS;
    });
}

hg_return_t HG_Bulk_free(hg_bulk_t handle) {
    if (!handle || handle->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return HG_SUCCESS;
    hg_class& owner = *handle->owner;
    mercury::forget_description(*handle);
    const hg_return_t taken_back = mercury::take_back(*handle);
    delete handle;
    --owner.bulks;
    return taken_back;
}

hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle) {
    if (!handle) return HG_INVALID_ARG;
    handle->references.fetch_add(1, std::memory_order_relaxed);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t* context) {
    if (!handle || !context) return HG_INVALID_ARG;
    if (handle->is_remote)
        return failed("HG_Bulk_bind: the handle is a peer's memory; bind it where it was created", HG_OPNOTSUPPORTED);
    return guarded([&] {
        const std::lock_guard lock(handle->lend_mutex);
        handle->bound.addr = context->owner->known_as(context->core_id);
        handle->is_bound = true;
        return HG_SUCCESS;
    });
}

hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle) {
    return handle && handle->is_bound && !handle->bound.addr.empty() ? &handle->bound : HG_ADDR_NULL;
}

uint8_t HG_Bulk_get_context_id(hg_bulk_t handle) {
    const hg_addr_t bound = HG_Bulk_get_addr(handle);
    return bound ? static_cast<uint8_t>(bound->addr.body().context) : 0;
}

hg_size_t HG_Bulk_get_size(hg_bulk_t handle) { return handle ? handle->bytes : 0; }
uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle) { return handle ? handle->segment_count : 0; }
uint8_t HG_Bulk_get_flags(hg_bulk_t handle) { return handle ? handle->flags : 0; }

hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset, hg_size_t size, uint8_t, uint32_t max_count,
                           void** buf_ptrs, hg_size_t* buf_sizes, uint32_t* actual_count) {
    if (!handle) return HG_INVALID_ARG;
    if (actual_count) *actual_count = 0;
    if (size == 0 || max_count == 0) return HG_SUCCESS;
    if (offset > handle->bytes || size > handle->bytes - offset) return HG_INVALID_ARG;
    const ConstBytes along = handle->remote.eager();
    na::Segment eager{const_cast<std::byte*>(along.data()), along.size()};
    if (handle->is_remote && along.empty()) return HG_OPNOTSUPPORTED;
    const mercury::Original original(*handle);
    if (!original) return failed(mercury::original_is_gone, HG_INVALID_ARG);
    const std::span<const na::Segment> segments =
        handle->is_remote ? std::span<const na::Segment>(&eager, 1) : std::span<const na::Segment>(original->segments);
    std::uint32_t count = 0;
    for (const na::Segment& segment : segments) {
        if (size == 0 || count == max_count) break;
        if (offset >= segment.bytes) {
            offset -= segment.bytes;
            continue;
        }
        const hg_size_t piece = std::min<hg_size_t>(size, segment.bytes - offset);
        if (buf_ptrs) buf_ptrs[count] = segment.base + offset;
        if (buf_sizes) buf_sizes[count] = piece;
        ++count;
        size -= piece;
        offset = 0;
    }
    if (actual_count) *actual_count = count;
    return HG_SUCCESS;
}
