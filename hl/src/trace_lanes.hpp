// SPDX-License-Identifier: BSD-3-Clause
// The lanes in which a viewer draws spans. A lane belongs to one process, and what it shows is nested: viewers draw
// slices of one lane that overlap without nesting at wrong lengths.
//
// A handler has a lane of its own. The calls and transfers that it makes are drawn in it, below the handler, unless one
// overlaps an earlier one or outlives the handler: that one gets a lane of its own. Spans come when they end, and a
// handler after what it has waited for, so all this is decided with little memory: when the last child in the lane has
// ended, and when its handler has. Parents share the places of a table. If two meet in one, a lane may be taken for
// busy that is not.
#pragma once

#include <cinnabar/hl/span_exporter.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace cinnabar::hl {

[[nodiscard]] inline std::uint64_t end_of(const SpanRecord& span) noexcept { return span.began_unix_us + span.took_us; }

class TraceLanes {
  public:
    // Where the span is drawn. Of spans that come together, handlers must come before what they called, and otherwise
    // those first that began first.
    [[nodiscard]] std::uint64_t lane_of(const SpanRecord& span) noexcept {
        if (span.kind == SpanKind::handler) {
            Place& own = place_of(span.context.span);
            own.closed_us = std::max(own.closed_us, end_of(span));
            return span.context.span;
        }
        // No parent has this number, so nothing else is drawn there.
        const std::uint64_t alone = ~span.context.span;
        if (span.parent == 0) return alone;
        Place& place = place_of(span.parent);
        const bool free = span.began_unix_us >= place.busy_us;
        const bool within = end_of(span) <= place.closed_us || span.began_unix_us >= place.closed_us;
        if (!free || !within) return alone;
        place.busy_us = end_of(span);
        return span.parent;
    }

  private:
    struct Place {
        std::uint64_t busy_us = 0;    // when the last child that was drawn there ended
        std::uint64_t closed_us = 0;  // when the last handler that was drawn there ended
    };
    static constexpr unsigned bits = 12;

    // The numbers of spans from elsewhere need not be random; see NodeCore::begins_trace.
    [[nodiscard]] Place& place_of(std::uint64_t span) noexcept {
        return places_[(span * 0x9e3779b97f4a7c15u) >> (64 - bits)];
    }
    std::array<Place, 1u << bits> places_{};
};

}  // namespace cinnabar::hl
