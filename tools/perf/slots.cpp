// SPDX-License-Identifier: BSD-3-Clause
#include "perf/slots.hpp"

#include "perf/pattern.hpp"

#include <span>

namespace cinnabar::tools::perf {
namespace {

// A region of segments with a gap of one segment between them.
Result<bulk::Region> scattered(std::byte* at, std::uint64_t segment_bytes, std::uint32_t segments) {
    std::vector<na::Segment> list;
    for (std::uint32_t i = 0; i < segments; ++i) list.push_back({at + 2 * i * segment_bytes, segment_bytes});
    return bulk::Region::expose(list, na::Access::read_write);
}

}  // namespace

Result<Slots> Slots::make(const hl::NodeRef& node, const BulkShape& shape, std::uint32_t count) {
    Slots slots(shape.segments > 1 ? shape.bytes : 0);
    if (shape.memory == MemoryKind::allocated) {
        CINNABAR_TRY(const auto all, node.allocate(shape.bytes * count));
        for (std::uint32_t i = 0; i < count; ++i) slots.regions_.push_back(all.slice(i * shape.bytes, shape.bytes));
        return slots;
    }
    const std::uint64_t span = shape.segments > 1 ? 2 * shape.bytes : shape.bytes;
    slots.memory_.resize(span * count);
    if (shape.segments == 1) {
        CINNABAR_TRY(const auto all, bulk::Region::expose(Bytes(slots.memory_), na::Access::read_write));
        for (std::uint32_t i = 0; i < count; ++i) slots.regions_.push_back(all.slice(i * shape.bytes, shape.bytes));
        return slots;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        CINNABAR_TRY(auto region,
                     scattered(slots.memory_.data() + i * span, shape.bytes / shape.segments, shape.segments));
        slots.regions_.push_back(std::move(region));
    }
    return slots;
}

void Slots::fill(std::uint64_t seed) {
    for (std::uint32_t i = 0; i < count(); ++i) fill(i, seed);
}

void Slots::fill(std::uint32_t slot, std::uint64_t seed) {
    if (scratch_.empty()) {
        fill_pattern(at(slot).contiguous(), seed + slot);
    } else {
        fill_pattern(scratch_, seed + slot);
        at(slot).copy_in(0, scratch_);
    }
}

bool Slots::has(std::uint32_t slot, std::uint64_t seed) {
    if (scratch_.empty()) return has_pattern(at(slot).contiguous(), seed + slot);
    at(slot).copy_out(0, scratch_);
    return has_pattern(scratch_, seed + slot);
}

}  // namespace cinnabar::tools::perf
