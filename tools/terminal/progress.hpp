// SPDX-License-Identifier: BSD-3-Clause
// The progress of many files: a line on a terminal that is redrawn ten times a second, or a callback once a second.
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
    double bytes_per_second = 0;  // lately; 0: not known yet
};

// "[#####.....]  52 %  1.67 GB of 3.22 GB  812 MB/s  1.9 s left  3/10  big.bin, small.bin +6" in at most `columns`
// columns, one for each character: as many names as fit, then how many more there are. Pure.
[[nodiscard]] std::string progress_line(const ProgressFacts& facts, std::size_t columns);

// The rate of the last seconds: follows a change within about two, jitters little. Pure but for what it keeps.
class RateMeter {
  public:
    // Bytes so far at a time that does not go back.
    void sample(std::chrono::duration<double> at, std::uint64_t bytes_done) noexcept;
    [[nodiscard]] double bytes_per_second() const noexcept { return rate_.value_or(0); }

  private:
    std::optional<double> rate_;
    double last_at_ = 0;
    std::uint64_t last_bytes_ = 0;
};

// Where progress is shown; by default nowhere.
struct ProgressShown {
    int fd = -1;                                           // draw a line there, if it is a terminal
    std::function<void(const ProgressFacts& facts)> tell;  // or call this, on a thread of its own
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
    // One of those that were added: it is done, or it has failed.
    void end_file() noexcept { files_done_.fetch_add(1, std::memory_order_relaxed); }
    // What was counted so far.
    [[nodiscard]] ProgressFacts facts() const noexcept;
    // Wipes the line, lets `print` write, and draws again later.
    template <typename F>
    void interrupted_by(F print) {
        if (!thread_.joinable() || shown_.tell) return print();
        const std::lock_guard lock(mutex_);
        wipe();
        print();
    }
    // Wipes the line; what is printed next starts in the first column. Once stopped it does not come back.
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
    RateMeter meter_;  // the thread's
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> names_;
    bool stopping_ = false;
    std::thread thread_;  // only if something is shown
};

}  // namespace cinnabar::tools
