// SPDX-License-Identifier: BSD-3-Clause
// Shows the progress of many files: on a terminal by a line, which is redrawn ten times a second; otherwise by a
// callback once a second.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::tools {

struct ProgressFacts {
    std::vector<std::string> names;  // of the files in progress, oldest first; any bytes
    std::uint64_t files_done = 0;
    std::uint64_t files_total = 0;
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    double bytes_per_second = 0;  // current rate; 0: not known yet
};

// Returns for example "[#####.....]  52 %  1.67 GB of 3.22 GB  812 MB/s  1.9 s left  3/10  big.bin, small.bin +6", in
// at most `columns` columns, counting one per character. The text ends with as many names as fit, and the number of
// further names. A pure function.
[[nodiscard]] std::string progress_line(const ProgressFacts& facts, std::size_t columns);

// The recent data rate, smoothed: the rate follows a change within about two seconds, with little jitter.
class RateMeter {
  public:
    // Adds a sample: the total bytes at time `at`, which must not decrease.
    void sample(std::chrono::duration<double> at, std::uint64_t bytes_done) noexcept;
    [[nodiscard]] double bytes_per_second() const noexcept { return rate_.value_or(0); }

  private:
    std::optional<double> rate_;
    double last_at_ = 0;
    std::uint64_t last_bytes_ = 0;
};

// Where progress is shown; by default nowhere.
struct ProgressShown {
    int fd = -1;                                           // draw a line on this descriptor, if it is a terminal
    std::function<void(const ProgressFacts& facts)> tell;  // or call this function, on a separate thread
    std::chrono::milliseconds every{100};
};

class ProgressBar {
  public:
    explicit ProgressBar(ProgressShown shown = {});
    ~ProgressBar() { stop(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // Any thread.
    void begin_file(const std::string& name);
    // A file that began is no longer in progress, whether it succeeded or not.
    void leave_file(const std::string& name);
    void add_bytes(std::uint64_t bytes) noexcept { bytes_done_.fetch_add(bytes, std::memory_order_relaxed); }
    void add_files(std::uint64_t count) noexcept { files_total_.fetch_add(count, std::memory_order_relaxed); }
    void add_total(std::uint64_t bytes) noexcept { bytes_total_.fetch_add(bytes, std::memory_order_relaxed); }
    // A file that was added has succeeded or failed.
    void end_file() noexcept { files_done_.fetch_add(1, std::memory_order_relaxed); }
    // A file that was added turned out to be something else.
    void drop_file() noexcept { files_total_.fetch_sub(1, std::memory_order_relaxed); }
    // The counts so far; without names and rate.
    [[nodiscard]] ProgressFacts facts() const noexcept;
    // Clears the line and lets `print` write; the line is drawn again later.
    template <typename F>
    void interrupted_by(F print) {
        if (!thread_.joinable() || shown_.tell) return print();
        const std::lock_guard lock(mutex_);
        wipe();
        print();
    }
    // Clears the line for good, so that later output starts in the first column.
    void stop();

  private:
    void run();
    void show(double elapsed);
    void wipe() const;
    const ProgressShown shown_;
    std::atomic<std::uint64_t> files_total_{0};
    std::atomic<std::uint64_t> bytes_total_{0};
    std::atomic<std::uint64_t> bytes_done_{0};
    std::atomic<std::uint64_t> files_done_{0};
    RateMeter meter_;  // used by the thread only
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> names_;
    bool stopping_ = false;
    std::thread thread_;  // runs only if progress is shown
};

}  // namespace cinnabar::tools
