// SPDX-License-Identifier: BSD-3-Clause
// Drops and counts lines that are logged too often at one place.
#include "log_sink.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <cstdarg>

namespace cinnabar {

bool LogLimit::admits(TimeUs now, std::uint64_t& left_out) noexcept {
    if (const std::uint32_t sink = detail::log_sink_version();
        sink_.exchange(sink, std::memory_order_relaxed) != sink) {
        paid_until_.store(0, std::memory_order_relaxed);
        refused_.store(0, std::memory_order_relaxed);
    }
    TimeUs paid = paid_until_.load(std::memory_order_relaxed);
    do {
        if (paid > now + burst_us_) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
    } while (!paid_until_.compare_exchange_weak(paid, std::max(paid, now) + period_us_, std::memory_order_relaxed));
    left_out = refused_.exchange(0, std::memory_order_relaxed);
    return true;
}

void log_limited(LogLimit& limit, LogLevel level, LogModule module, const char* format, ...) noexcept {
    std::uint64_t left_out = 0;
    if (!log_enabled(level, module) || !limit.admits(steady_clock().now_us(), left_out)) return;
    std::va_list arguments;
    va_start(arguments, format);
    detail::tell_log_sink(level, module, {}, left_out, format, arguments);
    va_end(arguments);
}

void log_limited(LogLimit& limit, LogLevel level, LogModule module, std::initializer_list<LogField> fields,
                 const char* format, ...) noexcept {
    std::uint64_t left_out = 0;
    if (!log_enabled(level, module) || !limit.admits(steady_clock().now_us(), left_out)) return;
    std::va_list arguments;
    va_start(arguments, format);
    detail::tell_log_sink(level, module, fields, left_out, format, arguments);
    va_end(arguments);
}

}  // namespace cinnabar
