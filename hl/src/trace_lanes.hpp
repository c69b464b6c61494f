// SPDX-License-Identifier: BSD-3-Clause
// The lanes in which a viewer draws spans. A lane belongs to one process. The slices of one lane must nest: if they
// overlap without nesting, viewers draw them at wrong lengths.
//
// A handler has a lane of its own. The calls and transfers that a handler makes are drawn in its lane, below the
// handler; a call or transfer that overlaps an earlier one, or outlives the handler, gets a lane of its own. Spans
// arrive when they end, and a handler arrives after all that it has waited for. So two times per lane are enough to
// decide: when the last call or transfer in the lane ended, and when the handler ended. These times are kept in a table
// in which several handlers may share an entry; then a free lane may be taken for a busy one.
#pragma once

#include <cinnabar/hl/span_exporter.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cinnabar::hl {

[[nodiscard]] inline std::uint64_t end_of(const SpanRecord& span) noexcept { return span.began_unix_us + span.took_us; }

class TraceLanes {
  public:
    // Returns the lane of the span. If several spans arrive together, pass them in the order in which they began; if
    // spans began at the same time, pass a handler before the calls that it made.
    [[nodiscard]] std::uint64_t lane_of(const SpanRecord& span) noexcept {
        if (span.kind == SpanKind::handler) {
            Entry& own = entry_of(span.context.span);
            own.closed_us = std::max(own.closed_us, end_of(span));
            return span.context.span;
        }
        // No parent has this number, so nothing else is drawn there.
        const std::uint64_t alone = ~span.context.span;
        if (span.parent == 0) return alone;
        Entry& entry = entry_of(span.parent);
        const bool free = span.began_unix_us >= entry.busy_us;
        const bool within = end_of(span) <= entry.closed_us || span.began_unix_us >= entry.closed_us;
        if (!free || !within) return alone;
        entry.busy_us = end_of(span);
        return span.parent;
    }

  private:
    struct Entry {
        std::uint64_t busy_us = 0;    // when the last child that was drawn there ended
        std::uint64_t closed_us = 0;  // when the last handler that was drawn there ended
    };
    static constexpr unsigned bits = 12;

    // Multiplies as NodeCore::begins_trace does, because the span numbers of other implementations need not be random.
    [[nodiscard]] Entry& entry_of(std::uint64_t span) noexcept {
        return entries_[(span * 0x9e3779b97f4a7c15u) >> (64 - bits)];
    }
    std::array<Entry, 1u << bits> entries_{};
};

}  // namespace cinnabar::hl
