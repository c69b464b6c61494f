// SPDX-License-Identifier: BSD-3-Clause
// Formats a line with its fields, keeps it for recent_log(), and passes it to the sink.
#include "log_history.hpp"
#include "log_print.hpp"
#include "log_sink.hpp"

#include <cinnabar/base/callback_slot.hpp>
#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <string>

namespace cinnabar {

// The fields of a line that is logged. Names are copied: the first 255 bytes of each, and 511 of all.
class LogFields {
  public:
    explicit LogFields(std::initializer_list<LogField> wanted) noexcept {
        for (const LogField& field : wanted) {
            if (count_ == all_.size()) return;
            all_[count_] = field;
            if (field.name_of_) all_[count_].text_ = keep(field.name_of_(field.object_));
            ++count_;
        }
    }
    [[nodiscard]] std::span<const LogField> all() const noexcept { return {all_.data(), count_}; }

  private:
    static constexpr std::size_t name_bytes_max = 255;

    [[nodiscard]] std::string_view keep(const std::string& name) noexcept {
        const std::size_t bytes = std::min({name.size(), name_bytes_max, names_.size() - used_});
        char* const at = names_.data() + used_;
        name.copy(at, bytes);
        used_ += bytes;
        return {at, bytes};
    }

    std::array<LogField, 8> all_{};
    std::size_t count_ = 0;
    std::array<char, 511> names_{};  // the first used_ bytes
    std::size_t used_ = 0;
};

namespace {

void write_stderr(const LogLine& line, void*) {
    std::array<char, 1099> room;
    write_stderr_later(detail::print_line(line, room));
}

constinit CallbackSlot<LogSink> sink_slot{write_stderr};

using Text = std::array<char, 1024>;

std::size_t print(Text& text, const char* format, std::va_list arguments) noexcept {
    const int count = std::vsnprintf(text.data(), text.size(), format, arguments);
    return count < 0 ? 0 : std::min(static_cast<std::size_t>(count), text.size() - 1);
}

// Adds the number of lines that were left out. Returns the size of the text.
std::size_t print_left_out(Text& text, std::size_t bytes, std::uint64_t left_out) noexcept {
    if (left_out == 0) return bytes;
    const int count = std::snprintf(text.data() + bytes, text.size() - bytes, " (%llu more of these left out)",
                                    static_cast<unsigned long long>(left_out));
    return count > 0 ? std::min(bytes + static_cast<std::size_t>(count), text.size() - 1) : bytes;
}

}  // namespace

void set_log_sink(LogSink sink, void* user) noexcept { sink_slot.set(sink ? sink : write_stderr, user); }

std::uint32_t detail::log_sink_version() noexcept { return sink_slot.version(); }

void detail::tell_log_sink(LogLevel level, LogModule module, std::initializer_list<LogField> fields,
                           std::uint64_t left_out, const char* format, std::va_list arguments) noexcept {
    Text text{};
    const std::size_t bytes = print_left_out(text, print(text, format, arguments), left_out);
    const LogFields known(fields);
    const LogLine line{level, module.name(), {text.data(), bytes}, left_out, known.all()};
    remember_line(line);
    const auto [sink, user] = sink_slot.get();
    sink(line, user);
}

void log(LogLevel level, LogModule module, const char* format, ...) noexcept {
    if (!log_enabled(level, module)) return;
    std::va_list arguments;
    va_start(arguments, format);
    detail::tell_log_sink(level, module, {}, 0, format, arguments);
    va_end(arguments);
}

void log(LogLevel level, LogModule module, std::initializer_list<LogField> fields, const char* format, ...) noexcept {
    if (!log_enabled(level, module)) return;
    std::va_list arguments;
    va_start(arguments, format);
    detail::tell_log_sink(level, module, fields, 0, format, arguments);
    va_end(arguments);
}

}  // namespace cinnabar
