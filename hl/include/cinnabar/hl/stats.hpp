// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a node for each RPC, as origin and as target. Counting is a few relaxed additions; a snapshot is not
// atomic across counters. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/log_linear.hpp>
#include <cinnabar/hl/histogram.hpp>
#include <cinnabar/rpc/snapshot.hpp>
#include <cinnabar/rpc/times.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::hl {

using rpc::call_parts;
using rpc::CallPart;
using rpc::CallParts;
using rpc::parts_of;

// Failed calls of this node that ended in the same phase with the same error. An answer with an error ends the phase
// `sent`; a call that was not sent, and waited for nothing that is known, ends in `unknown`.
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
    void count_call(TimeUs took_us, Errc result) noexcept { calls_.count(took_us, result); }
    void count_request(TimeUs took_us, Errc result) noexcept { requests_.count(took_us, result); }
    // `all`: the sum of the parts.
    void count_parts(const CallParts& parts, TimeUs all) noexcept {
        if (all >= log_linear_short_end) [[unlikely]]  // no part is longer
            return count_long_parts(parts);
        timed_.fetch_add(1, std::memory_order_relaxed);
        // Not a loop: constant indices make it half as long.
        [&]<std::size_t... part>(std::index_sequence<part...>) { (parts_[part].count(parts[part]), ...); }
        (std::make_index_sequence<call_parts>());
    }
    // For a call that count_call() has counted.
    void count_failure(rpc::CallPhase phase, Errc result) noexcept {
        failures_[static_cast<std::size_t>(phase) % rpc::call_phases][static_cast<std::size_t>(result) % errc_count]
            .fetch_add(1, std::memory_order_relaxed);
    }
    CINNABAR_API void read(RpcCounts& out) const;

  private:
    CINNABAR_API void count_long_parts(const CallParts& parts) noexcept;

    using Times = std::array<std::atomic<std::uint64_t>, Histogram::buckets>;
    struct Side {
        Times times{};
        std::atomic<std::uint64_t> failed{0};

        void count(TimeUs took_us, Errc result) noexcept {
            times[Histogram::bucket_of(took_us)].fetch_add(1, std::memory_order_relaxed);
            if (result != Errc::ok) failed.fetch_add(1, std::memory_order_relaxed);
        }
    };
    struct Part {
        Times times{};  // without those of 0 us
        std::atomic<std::uint64_t> sum_us{0};

        void count(TimeUs took_us) noexcept {
            if (took_us == 0) return;  // as many parts are: read() counts those that are missing from timed_
            times[log_linear_bucket_of_short(took_us, Histogram::bits)].fetch_add(1, std::memory_order_relaxed);
            sum_us.fetch_add(took_us, std::memory_order_relaxed);
        }
    };
    Side calls_;
    Side requests_;
    std::atomic<std::uint64_t> timed_{0};  // calls whose parts were counted
    std::array<Part, call_parts> parts_;
    std::array<std::array<std::atomic<std::uint64_t>, errc_count>, rpc::call_phases> failures_{};
};

}  // namespace cinnabar::hl
