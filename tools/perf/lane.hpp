// SPDX-License-Identifier: BSD-3-Clause
// The calls that one context makes to the echo: a closed loop, where each call follows the end of another, or an open
// loop, where calls start by a schedule. It asks for nothing but rpc's own interface, so that what is measured is the
// library. Each reply is compared byte by byte with what was sent. One thread.
//
// In an open loop two times are taken of each call: from its planned start, and from when it was sent. A server that
// stalls keeps calls from being sent; those that were planned meanwhile have waited as well, and only the first time
// says so (coordinated omission).
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
    std::size_t payload_bytes = 64;  // each way
    std::uint32_t depth = 1;         // calls in flight; of an open loop, at most
    double rate = 0;                 // calls a second of this lane; 0: a closed loop
    Arrivals arrivals = Arrivals::even;
    Microseconds deadline{5'000'000};  // of each call, from when it is sent
    std::uint64_t begin_ns = 0;        // of the warm-up
    std::uint64_t warm_up_ns = 0;
    std::uint64_t repeat_ns = 1'000'000'000;
    std::uint32_t repeats = 1;
    std::uint64_t seed = 1;
    // This many failures without a success in between, and the lane gives up: the server is gone.
    std::uint32_t failures_in_row_max = 100;

    [[nodiscard]] std::uint64_t measured_from_ns() const noexcept { return begin_ns + warm_up_ns; }
    [[nodiscard]] std::uint64_t end_ns() const noexcept { return measured_from_ns() + repeats * repeat_ns; }
};

// Of one repeat. A call belongs to the repeat that it starts in, or is planned to start in; those of the warm-up count
// nowhere, but for their failures.
struct LaneRepeat {
    Histogram latency;              // closed: of a call; open: from the planned start
    Histogram from_sending;         // open loop only
    std::uint64_t done_within = 0;  // calls that ended well within its time
    Outcomes outcomes;
};

class Lane {
  public:
    // The context must outlive the lane, and nobody else drives it. Its clock is the steady clock.
    Lane(rpc::Context& context, na::Addr peer, const LanePlan& plan);
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Starts what is due, makes progress once, and runs callbacks. False: the lane is at its end, and has no call in
    // flight. Call it again and again until then.
    bool turn() noexcept;
    // Starts nothing more; what is in flight is canceled and waited for by turn().
    void stop() noexcept;

    [[nodiscard]] const std::vector<LaneRepeat>& repeats() const noexcept { return repeats_; }
    [[nodiscard]] const Outcomes& warm_up() const noexcept { return warm_up_; }
    [[nodiscard]] const Timeline& timeline() const noexcept { return timeline_; }
    [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }
    // One call in 64 records where its time went: how many did, and the sums by hl::CallPart.
    [[nodiscard]] std::uint64_t timed() const noexcept { return timed_; }
    [[nodiscard]] const hl::CallParts& parts_us() const noexcept { return parts_us_; }

  private:
    struct Slot {
        Lane* lane = nullptr;
        rpc::Call* call = nullptr;  // in flight
        std::uint64_t planned_ns = 0;
        std::uint64_t sent_ns = 0;
        std::uint64_t seed = 0;
    };
    enum class Sent : std::uint8_t { yes, no_room, failed };

    void start_due() noexcept;
    [[nodiscard]] Sent send(Slot& slot, std::uint64_t planned_ns, std::uint64_t now) noexcept;
    [[nodiscard]] Bytes room_of(rpc::Call& call, Errc& why) noexcept;
    static void on_done(rpc::Call& call, void* user) noexcept;
    void ended(Slot& slot, rpc::Call& call) noexcept;
    void count(const Slot& slot, std::uint64_t now) noexcept;
    void count_parts(const Slot& slot, const rpc::Call& call, TimeUs now) noexcept;
    void failed(std::uint64_t planned_ns, Errc code) noexcept;
    // Null: the warm-up.
    [[nodiscard]] LaneRepeat* repeat_at(std::uint64_t at_ns) noexcept;
    [[nodiscard]] Outcomes& outcomes_at(std::uint64_t at_ns) noexcept;
    void count_unsent() noexcept;

    rpc::Context& context_;
    const na::Addr peer_;
    const LanePlan plan_;
    std::optional<Schedule> schedule_;
    std::deque<Slot> slots_;
    std::vector<Slot*> free_;
    std::vector<LaneRepeat> repeats_;
    Outcomes warm_up_;
    Timeline timeline_;
    std::uint64_t last_from_ns_;  // when the repeat began that was found last
    LaneRepeat* last_;
    std::uint64_t next_seed_;
    std::uint64_t timed_ = 0;
    hl::CallParts parts_us_{};
    std::uint32_t in_flight_ = 0;
    std::uint32_t failures_in_row_ = 0;
    bool starting_ = true;  // calls still begin
    bool stopped_ = false;
    bool gave_up_ = false;
};

}  // namespace cinnabar::tools::perf
