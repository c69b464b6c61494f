// SPDX-License-Identifier: BSD-3-Clause
// A clock that is read from a processor counter with a constant rate, at half the cost of CLOCK_MONOTONIC. The clock
// reads CLOCK_MONOTONIC every 10 ms and interpolates linearly in between. The clock never goes back on a thread, and is
// within a microsecond of CLOCK_MONOTONIC. If the counter jumps, for example when a virtual machine is migrated, the
// clock is at most 10 ms ahead until CLOCK_MONOTONIC has caught up. Decision 0095.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

namespace cinnabar {

// The clock over one counter. Source has static functions: ticks(), monotonic_ns(), usable(), which returns whether the
// counter is suitable, and pause(). Any thread; one thread delays another by at most some microseconds.
template <typename Source>
class TickClock {
  public:
    constexpr TickClock() noexcept = default;

    // A copy of the present line, kept by one thread for one clock. It is valid until its end, whoever draws the next
    // line, so now_ns() reads nothing else.
    struct Kept {
        std::uint64_t from = 0;  // as those of Line
        std::uint64_t span = 0;
        std::uint64_t at_ns = 0;
        std::uint64_t rate = 0;
    };
    [[nodiscard]] std::uint64_t now_ns(Kept& kept) noexcept {
        const std::uint64_t since = Source::ticks() - kept.from;
        if (since < kept.span) [[likely]]
            return ns_on(kept, since);
        return look_again(kept);
    }

  private:
    static constexpr unsigned rate_bits = 40;
    static constexpr double rate_one = 1ull << rate_bits;
    static constexpr double line_ns = 1e7;         // multiplied by 2^rate_bits it still fits in 64 bits
    static constexpr double sharp_after_ns = 5e6;  // minimum between two sharp readings for measuring the tick length
    static constexpr double known_after_ns = 1e9;  // the same between any two readings
    static constexpr double odd_rate = 1e-3;       // a larger change of the rate is not a correction of the clock
    static constexpr std::uint64_t off_ns_max = 1'000;
    static constexpr unsigned tries_max = 100;
    static constexpr unsigned readings_max = 16;
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // The time is `at_ns` at tick `from`. The line is valid for `span` ticks; 0: there is no line.
    struct Line {
        std::atomic<std::uint64_t> from{0};
        std::atomic<std::uint64_t> span{0};
        std::atomic<std::uint64_t> at_ns{0};
        std::atomic<std::uint64_t> rate{0};  // nanoseconds per tick, times 2^rate_bits
    };
    struct Seen {
        std::uint64_t ns = 0;
        bool valid = false;  // false: `ns` is the end of the line, and no thread has seen a later time
    };
    struct Reading {
        std::uint64_t ticks = 0;
        std::uint64_t ns = 0;
        bool sharp = false;  // the thread was not delayed between the two
    };

    [[nodiscard]] static std::uint64_t ns_on(const Kept& line, std::uint64_t since) noexcept {
        return line.at_ns + (since * line.rate >> rate_bits);
    }
    // The two lines alternate: readers do not use the one that is being written.
    [[nodiscard]] Kept present_line() const noexcept {
        for (;;) {
            const std::uint32_t version = version_.load(std::memory_order_acquire);
            const Line& line = lines_[version % 2];
            const Kept copy{line.from.load(std::memory_order_acquire), line.span.load(std::memory_order_acquire),
                            line.at_ns.load(std::memory_order_acquire), line.rate.load(std::memory_order_acquire)};
            if (version_.load(std::memory_order_relaxed) == version) return copy;
        }
    }
    [[nodiscard]] Seen see() const noexcept {
        const Kept line = present_line();
        const std::uint64_t since = Source::ticks() - line.from;
        return {ns_on(line, std::min(since, line.span)), since < line.span};
    }

    [[gnu::noinline, gnu::cold]] std::uint64_t look_again(Kept& kept) noexcept {
        const Seen seen = see();
        const std::uint64_t now = seen.valid ? seen.ns : read_anew();
        kept = present_line();
        return now;
    }

    [[nodiscard]] std::uint64_t read_anew() noexcept {
        if (!is_usable()) return Source::monotonic_ns();
        for (unsigned tries = 0; drawing_.test_and_set(std::memory_order_acquire); ++tries) {
            const Seen seen = see();
            if (seen.valid) return seen.ns;
            // The thread that draws the line is not running. Its line will be within a microsecond of this time.
            if (tries == tries_max) return std::max(Source::monotonic_ns() - off_ns_max, seen.ns);
            Source::pause();
        }
        Seen seen = see();
        if (!seen.valid) seen.ns = draw(seen.ns);
        drawing_.clear(std::memory_order_release);
        return seen.ns;
    }

    [[nodiscard]] bool is_usable() noexcept {
        Usable usable = usable_.load(std::memory_order_relaxed);
        if (usable == Usable::unknown) {
            usable = Source::usable() ? Usable::yes : Usable::no;
            usable_.store(usable, std::memory_order_relaxed);
        }
        return usable == Usable::yes;
    }

    [[nodiscard]] Reading read_both() noexcept {
        // The duration of an undelayed pair of readings is known only after several tries.
        const bool is_first = least_gap_ == none;
        Reading best;
        std::uint64_t best_gap = none;
        for (unsigned tries = 0; tries < readings_max && (is_first || !best.sharp); ++tries) {
            const std::uint64_t before = Source::ticks();
            const std::uint64_t ns = Source::monotonic_ns();
            const std::uint64_t gap = Source::ticks() - before;
            if (gap >= best_gap) continue;
            best_gap = gap;
            least_gap_ = std::min(least_gap_, gap);
            best = {before + gap / 2, ns, gap / 2 <= least_gap_};
        }
        return best;
    }

    // `floor_ns`: no thread has seen a later time.
    std::uint64_t draw(std::uint64_t floor_ns) noexcept {
        const Reading now = read_both();
        measure(now);
        const std::uint64_t begin = std::max(now.ns, floor_ns);
        // If the time seen last is ahead of CLOCK_MONOTONIC, the line runs more slowly, so that they meet at its end.
        const double slower = 1 - std::min(static_cast<double>(begin - now.ns) / line_ns, 0.5);
        const double span = ns_per_tick_ == 0 ? 0 : line_ns / ns_per_tick_;
        publish(now.ticks, static_cast<std::uint64_t>(span), begin,
                static_cast<std::uint64_t>(ns_per_tick_ * slower * rate_one));
        return begin;
    }

    // Measures the length of a tick from this reading and an earlier one.
    void measure(const Reading& now) noexcept {
        const bool goes_on = earlier_.ns != 0 && now.ticks > earlier_.ticks;
        const auto ns = static_cast<double>(now.ns - earlier_.ns);
        const bool sharp = now.sharp && earlier_.sharp;
        if (goes_on && ns < (sharp ? sharp_after_ns : known_after_ns)) return;
        const double rate = goes_on ? ns / static_cast<double>(now.ticks - earlier_.ticks) : 0;
        const bool odd = ns_per_tick_ != 0 && std::abs(rate - ns_per_tick_) > ns_per_tick_ * odd_rate;
        ns_per_tick_ = odd ? 0 : rate;
        earlier_ = now;
    }

    void publish(std::uint64_t from, std::uint64_t span, std::uint64_t at_ns, std::uint64_t rate) noexcept {
        const std::uint32_t next = version_.load(std::memory_order_relaxed) + 1;
        Line& line = lines_[next % 2];
        line.from.store(from, std::memory_order_release);
        line.span.store(span, std::memory_order_release);
        line.at_ns.store(at_ns, std::memory_order_release);
        line.rate.store(rate, std::memory_order_release);
        version_.store(next, std::memory_order_release);
    }

    enum class Usable : std::uint8_t { unknown, yes, no };

    std::atomic<std::uint32_t> version_{0};
    Line lines_[2];
    std::atomic<Usable> usable_{Usable::unknown};
    std::atomic_flag drawing_ = ATOMIC_FLAG_INIT;  // held by the thread that draws; guards what follows
    Reading earlier_;
    std::uint64_t least_gap_ = none;
    double ns_per_tick_ = 0;  // 0: unknown
};

}  // namespace cinnabar
