// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a node for each RPC, as origin and as target. Counting is a few relaxed additions; a snapshot is not
// atomic across counters. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/eight_sums.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/hl/histogram.hpp>
#include <cinnabar/rpc/snapshot.hpp>
#include <cinnabar/rpc/times.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::hl {

using rpc::call_parts;
using rpc::CallPart;
using rpc::CallParts;
using rpc::parts_of;

// The number of this node's calls that failed in the same phase with the same error. A call that was answered with an
// error failed in the phase `sent`. A call that was not sent, and did not wait in any known phase, failed in `unknown`.
struct CallFailures {
    rpc::CallPhase phase = rpc::CallPhase::unknown;
    Errc error = Errc::ok;
    std::uint64_t calls = 0;
};

struct RpcCounts {
    std::string name;
    std::uint64_t calls = 0;         // ended calls of this node
    std::uint64_t calls_failed = 0;  // ended calls without a result
    Histogram call_time;             // from sending to its end
    std::uint64_t requests = 0;      // served by this node
    std::uint64_t requests_failed = 0;
    Histogram serve_time;  // from the handler's start to its answer
    // Of the calls that recorded it (NodeOptions::timed_one_in), by CallPart: histograms and sums of their times.
    std::array<Histogram, call_parts> parts;
    CallParts parts_us{};
    std::vector<CallFailures> failures;  // calls_failed by phase and error, in their order
};

// The live counters of one RPC.
class RpcStats {
  public:
    // `alone`: in a turn of the node's first loop (Loop::counts_alone), where no other thread counts alone.
    void count_call(TimeUs took_us, Errc result, bool alone = false) noexcept { calls_.count(took_us, result, alone); }
    void count_request(TimeUs took_us, Errc result, bool alone = false) noexcept {
        requests_.count(took_us, result, alone);
    }
    CINNABAR_API void count_parts(const CallParts& parts) noexcept;
    // The same in fewer instructions.
    CINNABAR_API void count_usual(const rpc::UsualParts& parts) noexcept;
    // For a call that count_call() has counted.
    void count_failure(rpc::CallPhase phase, Errc result) noexcept {
        failures_[static_cast<std::size_t>(phase) % rpc::call_phases][static_cast<std::size_t>(result) % errc_count]
            .fetch_add(1, std::memory_order_relaxed);
    }
    CINNABAR_API void read(RpcCounts& out) const;

  private:
    [[nodiscard]] std::uint64_t add_usual(RpcCounts& out) const noexcept;
    [[gnu::cold, gnu::noinline]] void count_elsewhere(const rpc::UsualParts& parts) noexcept;

    using Times = std::array<std::atomic<std::uint64_t>, Histogram::buckets>;
    struct Side {
        Times times{};        // counted by all threads
        Times times_alone{};  // written by one thread at a time
        std::atomic<std::uint64_t> failed{0};

        void count(TimeUs took_us, Errc result, bool alone) noexcept {
            const std::size_t bucket = Histogram::bucket_of(took_us);
            if (alone) [[likely]] {
                std::atomic<std::uint64_t>& counted = times_alone[bucket];
                counted.store(counted.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            } else {
                times[bucket].fetch_add(1, std::memory_order_relaxed);
            }
            if (result != Errc::ok) failed.fetch_add(1, std::memory_order_relaxed);
        }
        void read(Histogram& histogram) const noexcept;
    };
    struct Part {
        Times times{};  // without those of 0 us
        std::atomic<std::uint64_t> sum_us{0};
    };
    // Counters that one thread at a time increments without atomic additions: the thread that has set `taken`. No
    // thread waits for `taken`: while it is set, the other threads count in parts_.
    struct Usual {
        static constexpr std::size_t parts = call_parts - rpc::usual_parts_begin;
        static constexpr std::size_t buckets = Histogram::bucket_of((TimeUs{1} << rpc::usual_time_bits) - 1) + 1;

        std::atomic<bool> taken{false};
        EightSums sums_us;
        std::array<std::array<std::uint64_t, buckets>, parts> times{};
    };
    Side calls_;
    Side requests_;
    std::atomic<std::uint64_t> timed_{0};  // calls whose parts were counted here, and not in usual_
    std::array<Part, call_parts> parts_;
    mutable Usual usual_;  // read() takes it
    std::array<std::array<std::atomic<std::uint64_t>, errc_count>, rpc::call_phases> failures_{};
};

}  // namespace cinnabar::hl
