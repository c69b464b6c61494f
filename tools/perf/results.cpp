// SPDX-License-Identifier: BSD-3-Clause
#include "perf/results.hpp"

#include <fmt/format.h>

#include <array>

namespace cinnabar::tools::perf {
namespace {

std::string plural(std::uint32_t count, std::string_view what) {
    return fmt::format(", {} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> units{"B", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    for (; unit + 1 < units.size() && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
    return fmt::format("{} {}", bytes, units.at(unit));
}

ExitCode Results::exit() const noexcept {
    for (const auto& row : calls) {
        if (row.outcomes.exit() != ExitCode::ok) return row.outcomes.exit();
    }
    for (const auto& row : bulk) {
        if (row.outcomes.exit() != ExitCode::ok) return row.outcomes.exit();
    }
    return ExitCode::ok;
}

std::string label_of(const CallShape& shape) {
    std::string text = size_text(shape.payload_bytes);
    if (shape.rate > 0) {
        text += fmt::format(", {:.10g} calls/s planned", shape.rate);
        if (shape.arrivals == Arrivals::poisson) text += " (poisson)";
    } else {
        text += fmt::format(", depth {}", shape.depth);
    }
    if (shape.contexts > 1) text += plural(shape.contexts, "context");
    if (shape.clients > 1) text += plural(shape.clients, "client");
    if (shape.threads > 0) text += plural(shape.threads, "thread");
    return text;
}

std::string label_of(const BulkShape& shape) {
    std::string text = fmt::format("{} {}, depth {}", size_text(shape.bytes), to_string(shape.direction), shape.depth);
    if (shape.segments > 1) text += plural(shape.segments, "segment");
    if (shape.memory != MemoryKind::exposed) text += ", " + std::string(to_string(shape.memory));
    return text;
}

}  // namespace cinnabar::tools::perf
