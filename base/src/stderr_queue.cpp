// SPDX-License-Identifier: BSD-3-Clause
// Lines for stderr are queued in a ring and written by a background thread, because stderr may be a pipe that no
// process reads, so that writing may block. Setting O_NONBLOCK instead would affect every process that shares stderr.
#include "log_print.hpp"

#include <cinnabar/base/background.hpp>
#include <cinnabar/base/log.hpp>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cinnabar {
namespace {

constexpr std::uint64_t lines_max = 256;
constexpr Microseconds exit_limit{200'000};

// A lock-free ring with many producers and one consumer. The ring is zero-initialised and never destroyed, because
// lines may be logged before main() starts and after main() returns.
class StderrQueue {
  public:
    void push(std::string_view line) noexcept;
    [[nodiscard]] bool written() const noexcept {
        return written_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
    }
    void start_writer() noexcept;
    // Called in the child of a fork, which has no writer thread; the parent writes the queued lines.
    void forget() noexcept;

  private:
    struct Slot {
        // The slot is free for the push at `position` if turn + index == position, and full if it is position + 1.
        std::atomic<std::uint64_t> turn;
        std::size_t bytes = 0;
        std::array<char, 1100> text{};
    };
    static void* write_all(void* self) noexcept;
    void write_next(std::uint64_t position) noexcept;
    void tell_dropped() noexcept;

    std::array<Slot, lines_max> slots_;
    std::atomic<std::uint64_t> pushed_;
    std::atomic<std::uint64_t> written_;
    std::atomic<std::uint64_t> dropped_;
    std::atomic<std::uint32_t> rings_;  // counts pushes; the writer waits for a change
    std::atomic<bool> has_writer_;
    std::atomic<bool> prepared_;  // the handlers for exit and fork are installed
};
constinit StderrQueue queue{};

void write_whole(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
        if (count > 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (count < 0 && errno == EAGAIN) {  // another process made stderr non-blocking
            pollfd room{STDERR_FILENO, POLLOUT, 0};
            (void)::poll(&room, 1, -1);
        } else if (count == 0 || errno != EINTR) {
            return;  // stderr was closed
        }
    }
}

void StderrQueue::push(std::string_view line) noexcept {
    std::uint64_t position = pushed_.load(std::memory_order_relaxed);
    for (;;) {
        const Slot& slot = slots_[position % lines_max];
        const auto ahead =
            static_cast<std::int64_t>(slot.turn.load(std::memory_order_acquire) + position % lines_max - position);
        if (ahead < 0) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (ahead > 0) {
            position = pushed_.load(std::memory_order_relaxed);
        } else if (pushed_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
            break;
        }
    }
    Slot& slot = slots_[position % lines_max];
    slot.bytes = std::min(line.size(), slot.text.size());
    std::memcpy(slot.text.data(), line.data(), slot.bytes);
    if (slot.bytes < line.size()) slot.text.back() = '\n';
    slot.turn.store(position + 1 - position % lines_max, std::memory_order_release);
    rings_.fetch_add(1, std::memory_order_release);
    rings_.notify_one();
    start_writer();
}

void StderrQueue::start_writer() noexcept {
    if (has_writer_.load(std::memory_order_acquire)) return;
    if (!prepared_.exchange(true, std::memory_order_acq_rel)) {  // before the writer starts: a forked child lacks it
        (void)std::atexit([] { (void)flush_log(exit_limit); });
        (void)::pthread_atfork(nullptr, nullptr, [] { queue.forget(); });
    }
    if (has_writer_.exchange(true, std::memory_order_acq_rel)) return;
    // run_in_background() blocks SIGPIPE in the writer thread, so write() reports a closed pipe as an error. If no
    // thread can be created, the next line tries again.
    if (!run_in_background(&StderrQueue::write_all, this)) has_writer_.store(false, std::memory_order_release);
}

void StderrQueue::forget() noexcept {
    for (Slot& slot : slots_) slot.turn.store(0, std::memory_order_relaxed);
    pushed_.store(0, std::memory_order_relaxed);
    written_.store(0, std::memory_order_relaxed);
    dropped_.store(0, std::memory_order_relaxed);
    has_writer_.store(false, std::memory_order_release);
}

void StderrQueue::tell_dropped() noexcept {
    const std::uint64_t count = dropped_.exchange(0, std::memory_order_relaxed);
    if (count == 0) return;
    std::array<char, 128> text{};
    std::array<char, 512> room{};
    (void)std::snprintf(text.data(), text.size(), "%llu lines of the log were dropped: stderr was blocked",
                        static_cast<unsigned long long>(count));
    write_whole(detail::print_line({LogLevel::warning, "base", text.data(), count}, room));
}

void StderrQueue::write_next(std::uint64_t position) noexcept {
    Slot& slot = slots_[position % lines_max];
    write_whole({slot.text.data(), slot.bytes});
    slot.turn.store(position + lines_max - position % lines_max, std::memory_order_release);
    written_.store(position + 1, std::memory_order_release);
}

void* StderrQueue::write_all(void* self) noexcept {
    auto& own = *static_cast<StderrQueue*>(self);
    for (std::uint64_t position = own.written_.load(std::memory_order_relaxed);;) {
        const std::uint32_t rings = own.rings_.load(std::memory_order_acquire);
        const Slot& slot = own.slots_[position % lines_max];
        if (slot.turn.load(std::memory_order_acquire) + position % lines_max == position + 1) {
            own.write_next(position++);
            continue;
        }
        own.tell_dropped();
        own.rings_.wait(rings, std::memory_order_acquire);
    }
}

}  // namespace

void write_stderr_later(std::string_view line) noexcept { queue.push(line); }

bool flush_log(Microseconds limit) noexcept {
    const TimeUs end = after(steady_clock().now_us(), limit);
    while (!queue.written()) {
        if (steady_clock().now_us() >= end) return false;
        queue.start_writer();
        (void)::poll(nullptr, 0, 1);
    }
    return true;
}

}  // namespace cinnabar
