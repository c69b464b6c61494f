// SPDX-License-Identifier: BSD-3-Clause
// Lane: the calls that one context makes to the echo service: a closed loop, in which each call follows the end of
// another, or an open loop, in which calls start by a schedule. A Lane uses only the rpc layer, so that the cost of hl
// is not measured. Each reply is compared byte by byte with the request. One thread.
//
// In an open loop, two latencies are recorded per call: from the call's planned start and from its sending. While the
// server stalls, planned calls cannot be sent; only the latency from the planned start includes that wait, and so is
// free of coordinated omission.
#pragma once

#include "perf/clock.hpp"
#include "perf/histogram.hpp"
#include "perf/outcomes.hpp"
#include "perf/schedule.hpp"
#include "perf/timeline.hpp"

#include <cinnabar/hl/stats.hpp>
#include <cinnabar/rpc/context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace cinnabar::tools::perf {

struct LanePlan {
    std::size_t payload_bytes = 64;  // in each direction
    std::uint32_t depth = 1;         // calls in flight; in an open loop, the maximum
    double rate = 0;                 // calls per second of this lane; 0: a closed loop
    Arrivals arrivals = Arrivals::even;
    Microseconds deadline{5'000'000};  // of each call, from its sending
    std::uint64_t begin_ns = 0;        // start of the warm-up
    std::uint64_t warm_up_ns = 0;
    std::uint64_t repeat_ns = 1'000'000'000;
    std::uint32_t repeats = 1;
    std::uint64_t seed = 1;
    // The lane gives up after this many consecutive failures: the server is gone.
    std::uint32_t failures_in_row_max = 100;
    // To save memory when there are many lanes: coarser histograms, and no timeline.
    unsigned latency_bits = Histogram::fine_bits;
    bool with_timeline = true;

    [[nodiscard]] std::uint64_t measured_from_ns() const noexcept { return begin_ns + warm_up_ns; }
    [[nodiscard]] std::uint64_t end_ns() const noexcept { return measured_from_ns() + repeats * repeat_ns; }
};

// The result of one repeat. A call belongs to the repeat in which the call starts or, in an open loop, is planned to
// start. Calls of the warm-up belong to no repeat; only their failures are counted (warm_up()).
struct LaneRepeat {
    Histogram latency;              // closed loop: from the start; open loop: from the planned start
    Histogram from_sending;         // open loop only
    std::uint64_t done_within = 0;  // successful calls that ended during this repeat
    Outcomes outcomes;
};

class Lane {
  public:
    // `context` must outlive the lane, and only the lane may drive the context, unless turn_undriven() is used. The
    // clock of the context must be the steady clock.
    Lane(rpc::Context& context, na::Addr peer, const LanePlan& plan);
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Starts calls that are due, makes progress once, and runs callbacks. Call it until it returns false, which means
    // that the lane has ended and no call is in flight.
    bool turn() noexcept;
    // Like turn(), for several lanes that share one context and one thread: the caller itself drives the context
    // between the calls of turn_undriven(), that is, makes progress and runs callbacks.
    bool turn_undriven() noexcept;
    // Starts no more calls and cancels the calls in flight; turn() waits for their ends.
    void stop() noexcept;

    [[nodiscard]] const std::vector<LaneRepeat>& repeats() const noexcept { return repeats_; }
    [[nodiscard]] const Outcomes& warm_up() const noexcept { return warm_up_; }
    // Empty without LanePlan::with_timeline.
    [[nodiscard]] const Timeline& timeline() const noexcept { return timeline_; }
    [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }
    // One call in 64 records its phases: the number of these calls, and the sums by hl::CallPart.
    [[nodiscard]] std::uint64_t timed() const noexcept { return timed_; }
    [[nodiscard]] const hl::CallParts& parts_us() const noexcept { return parts_us_; }

  private:
    struct Slot {
        Lane* lane = nullptr;
        rpc::Call* call = nullptr;  // in flight
        std::uint64_t planned_ns = 0;
        std::uint64_t sent_ns = 0;
        std::uint64_t pattern = 0;  // the first word of what was sent
    };
    enum class Sent : std::uint8_t { yes, no_room, failed };

    [[gnu::noinline]] void start_due() noexcept;
    [[nodiscard]] bool goes_on() noexcept;
    // `over`: a call that has ended, which is released; null: none.
    [[nodiscard]] Sent send(Slot& slot, std::uint64_t planned_ns, std::uint64_t now,
                            rpc::Call* over = nullptr) noexcept;
    [[gnu::cold, gnu::noinline]] Sent not_sent(rpc::Call* call, std::uint64_t planned_ns, Errc why) noexcept;
    static void on_done(rpc::Call& call, void* user) noexcept;
    void ended(Slot& slot, rpc::Call& call) noexcept;
    void count(const Slot& slot, std::uint64_t now) noexcept;
    [[gnu::noinline]] void count_beyond(const Slot& slot, std::uint64_t now) noexcept;
    void add_latency(LaneRepeat& repeat, const Slot& slot, std::uint64_t now) noexcept;
    void count_parts(const Slot& slot, const rpc::Call& call, TimeUs now) noexcept;
    void failed(std::uint64_t planned_ns, Errc code) noexcept;
    // Null: the time is not in a repeat (warm-up). Nearly always it is in the repeat found last.
    [[nodiscard]] LaneRepeat* repeat_at(std::uint64_t at_ns) noexcept {
        return at_ns - last_from_ns_ < plan_.repeat_ns ? last_ : find_repeat(at_ns);
    }
    [[nodiscard]] LaneRepeat* find_repeat(std::uint64_t at_ns) noexcept;
    [[nodiscard]] Outcomes& outcomes_at(std::uint64_t at_ns) noexcept;
    void count_unsent() noexcept;

    rpc::Context& context_;
    const na::Addr peer_;
    const LanePlan plan_;
    const std::uint64_t end_ns_;
    const TimeUs deadline_us_;
    std::optional<Schedule> schedule_;
    std::deque<Slot> slots_;
    std::vector<Slot*> free_;
    std::vector<LaneRepeat> repeats_;
    Outcomes warm_up_;
    Timeline timeline_;
    std::uint64_t last_from_ns_;  // start of `last_`, the repeat found last
    LaneRepeat* last_;
    std::uint64_t next_pattern_;
    std::uint32_t calls_to_timed_ = 1;
    std::uint64_t timed_ = 0;
    hl::CallParts parts_us_{};
    std::uint32_t in_flight_ = 0;
    std::uint32_t failures_in_row_ = 0;
    bool starting_ = true;  // more calls may start
    bool stopped_ = false;
    bool gave_up_ = false;
};

}  // namespace cinnabar::tools::perf
