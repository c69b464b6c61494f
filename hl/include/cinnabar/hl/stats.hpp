// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a node for each RPC, as origin and as target. Counting is a few relaxed additions; a snapshot is not
// atomic across counters. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

namespace cinnabar::hl {

// Bucket i counts durations of [2^(i-1), 2^i) microseconds; bucket 0 counts those below 1.
struct Histogram {
    static constexpr std::size_t buckets = 40;
    std::array<std::uint64_t, buckets> counts{};

    [[nodiscard]] CINNABAR_API std::uint64_t total() const noexcept;
    // The upper edge, in microseconds, of the bucket that holds the quantile `fraction` (0 to 1); 0 if nothing was
    // counted.
    [[nodiscard]] CINNABAR_API std::uint64_t quantile_us(double fraction) const noexcept;
};

struct RpcCounts {
    std::string name;
    std::uint64_t calls = 0;         // ended calls of this node
    std::uint64_t calls_failed = 0;  // those that ended without a result
    Histogram call_time;             // from sending to its end
    std::uint64_t requests = 0;      // served by this node
    std::uint64_t requests_failed = 0;
    Histogram serve_time;  // from the handler's start to its answer
};

// The live counters of one RPC.
class RpcStats {
  public:
    void count_call(TimeUs took_us, Errc result) noexcept { calls_.count(took_us, result); }
    void count_request(TimeUs took_us, Errc result) noexcept { requests_.count(took_us, result); }
    CINNABAR_API void read(RpcCounts& out) const noexcept;

  private:
    struct Side {
        std::array<std::atomic<std::uint64_t>, Histogram::buckets> times{};
        std::atomic<std::uint64_t> failed{0};

        void count(TimeUs took_us, Errc result) noexcept {
            const auto bucket = static_cast<std::size_t>(std::bit_width(took_us));
            times[bucket < times.size() ? bucket : times.size() - 1].fetch_add(1, std::memory_order_relaxed);
            if (result != Errc::ok) failed.fetch_add(1, std::memory_order_relaxed);
        }
    };
    Side calls_;
    Side requests_;
};

}  // namespace cinnabar::hl
