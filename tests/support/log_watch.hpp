// SPDX-License-Identifier: BSD-3-Clause
// Captures the log during a test. A warning or an error that the test did not allow fails it.
#pragma once

#include <cinnabar/base/log.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::support {

// Only one may exist at a time. Any thread may log.
class LogWatch {
  public:
    LogWatch() { set_log_sink(&LogWatch::take, this); }
    ~LogWatch() {
        set_log_sink(nullptr, nullptr);
        for (const std::string& line : lines_) ADD_FAILURE() << "unexpected in the log: " << line;
    }
    LogWatch(const LogWatch&) = delete;
    LogWatch& operator=(const LogWatch&) = delete;

    // From now on allows any number of lines that contain `part`.
    void allow(std::string part) {
        const std::lock_guard lock(mutex_);
        allowed_.push_back(std::move(part));
    }

    // The number of lines that allow() let pass.
    [[nodiscard]] unsigned allowed() {
        const std::lock_guard lock(mutex_);
        return allowed_lines_;
    }

    // The fields of the last of these, as print_fields() writes them.
    [[nodiscard]] std::string allowed_fields() {
        const std::lock_guard lock(mutex_);
        return std::string(allowed_fields_.data(), allowed_fields_bytes_);
    }

  private:
    static void take(const LogLine& logged, void* user) {
        const std::string_view line = logged.text;
        if (logged.level < LogLevel::warning) return;
        auto& watch = *static_cast<LogWatch*>(user);
        const std::lock_guard lock(watch.mutex_);
        for (const std::string& part : watch.allowed_) {
            if (line.find(part) == std::string_view::npos) continue;
            ++watch.allowed_lines_;
            // Without an allocation: some tests let those of the code fail that logs.
            watch.allowed_fields_bytes_ = print_fields(logged, watch.allowed_fields_).size();
            return;
        }
        watch.lines_.emplace_back(line);
        // Also printed at once: a failed assertion aborts the program before the test could report the line.
        if (logged.level == LogLevel::error) std::cerr << line << '\n';
    }
    std::mutex mutex_;
    std::vector<std::string> allowed_;
    std::vector<std::string> lines_;
    std::array<char, 1024> allowed_fields_{};
    std::size_t allowed_fields_bytes_ = 0;
    unsigned allowed_lines_ = 0;
};

}  // namespace cinnabar::support
