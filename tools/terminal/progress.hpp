// SPDX-License-Identifier: BSD-3-Clause
// The progress bar: one line on a terminal that rewrites itself ten times a second, and nothing at all elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace cinnabar::tools {

struct ProgressFacts {
    std::string name;  // of a file under way; any bytes
    std::uint64_t files_done = 0;
    std::uint64_t files_total = 0;
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    double bytes_per_second = 0;  // lately; 0: not known yet
};

// "[#####.....]  52 %  1.67 GB of 3.22 GB  812 MB/s  1.9 s left  big.bin" in at most `columns` columns, counting a
// character as one. Pure.
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

class ProgressBar {
  public:
    // Shows itself on `fd` when that is a terminal and `wanted`.
    ProgressBar(int fd, bool wanted, std::uint64_t files_total, std::uint64_t bytes_total);
    ~ProgressBar() { stop(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // Any thread.
    void begin_file(const std::string& name);
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
        if (!thread_.joinable()) return print();
        const std::lock_guard lock(mutex_);
        wipe();
        print();
    }
    // Wipes the line; what is printed next starts in the first column. Once stopped it does not come back.
    void stop();

  private:
    void run();
    void draw(double elapsed);
    void wipe() const;
    int fd_;
    std::atomic<std::uint64_t> files_total_;
    std::atomic<std::uint64_t> bytes_total_;
    std::atomic<std::uint64_t> bytes_done_{0};
    std::atomic<std::uint64_t> files_done_{0};
    RateMeter meter_;  // the thread's
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string name_;
    bool stopping_ = false;
    std::thread thread_;  // only on a terminal
};

}  // namespace cinnabar::tools
