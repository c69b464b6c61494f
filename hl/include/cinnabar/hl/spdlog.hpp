// SPDX-License-Identifier: BSD-3-Clause
// Passes the library's log to spdlog. The library itself does not need spdlog; a program that includes this header
// finds and links it (find_package(spdlog), spdlog::spdlog).
//
// Lines wait in a queue for a thread of the bridge, which passes them to the sinks of spdlog. So a sink that blocks
// does not block the threads that log. If the queue is full, the oldest line is dropped, and overrun() counts it. Each
// line starts with its module, as on stderr, and ends with its fields, as ` peer=tcp://10.0.0.5:41234`
// (base/log_field.hpp).
#pragma once

#include <cinnabar/base/log.hpp>

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::hl {

// The sink of the library's log, as long as the bridge exists. Create it before the first node and destroy it after the
// last. At most one bridge may exist at a time. No other thread may log while the bridge is created or destroyed.
class SpdlogBridge {
  public:
    explicit SpdlogBridge(std::vector<spdlog::sink_ptr> sinks, std::size_t lines_max = 256)
        : pool_(std::make_shared<spdlog::details::thread_pool>(lines_max, 1)),
          logger_(std::make_shared<spdlog::async_logger>("cinnabar", sinks.begin(), sinks.end(), pool_,
                                                         spdlog::async_overflow_policy::overrun_oldest)) {
        logger_->set_level(spdlog::level::trace);  // the library filters by its own levels
        set_log_sink(&SpdlogBridge::take, this);
    }
    // Waits until the sinks have all lines.
    ~SpdlogBridge() {
        set_log_sink(nullptr, nullptr);
        logger_->flush();
    }
    SpdlogBridge(const SpdlogBridge&) = delete;
    SpdlogBridge& operator=(const SpdlogBridge&) = delete;

    // To set its pattern, and the level at which it flushes.
    [[nodiscard]] spdlog::logger& logger() noexcept { return *logger_; }
    // Lines dropped because the sinks were too slow.
    [[nodiscard]] std::size_t overrun() noexcept { return pool_->overrun_counter(); }

  private:
    [[nodiscard]] static spdlog::level::level_enum level_of(LogLevel level) noexcept {
        switch (level) {
            case LogLevel::debug:
                return spdlog::level::debug;
            case LogLevel::info:
                return spdlog::level::info;
            case LogLevel::warning:
                return spdlog::level::warn;
            case LogLevel::error:
            case LogLevel::off:
                break;
        }
        return spdlog::level::err;
    }
    static void take(const LogLine& line, void* user) {
        std::array<char, 1024> room{};
        static_cast<SpdlogBridge*>(user)->logger_->log(level_of(line.level), "{}: {}{}", line.module, line.text,
                                                       print_fields(line, room));
    }

    std::shared_ptr<spdlog::details::thread_pool> pool_;
    std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace cinnabar::hl
