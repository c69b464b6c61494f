// SPDX-License-Identifier: BSD-3-Clause
#include "current_trace.hpp"

#include <cinnabar/base/hex.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/trace.hpp>

#include <optional>
#include <utility>

namespace cinnabar::hl {
namespace {

// Accepts lower-case hexadecimal digits only.
std::optional<std::uint64_t> hex_of(std::string_view text) noexcept {
    std::uint64_t value = 0;
    for (const char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit && (c < 'a' || c > 'f')) return {};
        value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
    }
    return value;
}

}  // namespace

Tracer::~Tracer() = default;

bool Tracer::records(TraceOrigin, TimeUs) noexcept { return true; }

std::string to_traceparent(const TraceContext& context) {
    if (!context) return {};
    return "00-" + to_hex(context.id[0]) + to_hex(context.id[1]) + "-" + to_hex(context.span) +
           (context.sampled ? "-01" : "-00");
}

// "vv-tttttttttttttttttttttttttttttttt-ssssssssssssssss-ff"; later versions may add more after another '-'.
Result<TraceContext> parse_traceparent(std::string_view text) {
    const Error wrong(Errc::invalid_argument, "a traceparent is 00-TRACE-SPAN-FLAGS, with 32, 16 and 2 hex digits",
                      std::string(text));
    constexpr std::size_t bytes = 55;
    if (text.size() < bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return wrong;
    const auto version = hex_of(text.substr(0, 2));
    const auto high = hex_of(text.substr(3, 16));
    const auto low = hex_of(text.substr(19, 16));
    const auto span = hex_of(text.substr(36, 16));
    const auto flags = hex_of(text.substr(53, 2));
    if (!version || !high || !low || !span || !flags || *version == 0xff) return wrong;
    if (*version == 0 ? text.size() != bytes : text.size() > bytes && text[bytes] != '-') return wrong;
    if ((*high | *low) == 0 || *span == 0) return wrong;
    return TraceContext{{*high, *low}, *span, (*flags & 1) != 0};
}

TraceContext current_trace() noexcept { return detail::thread_trace; }

namespace detail {

constinit thread_local TraceContext thread_trace;

std::atomic<bool> traces_seen{false};

std::uint64_t new_trace_number() noexcept {
    thread_local Random random(secret_u64());
    const std::uint64_t number = random.next();
    return number != 0 ? number : 1;
}

TraceContext exchange_current_trace(const TraceContext& trace) noexcept { return std::exchange(thread_trace, trace); }

}  // namespace detail
}  // namespace cinnabar::hl
