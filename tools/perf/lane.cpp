// SPDX-License-Identifier: BSD-3-Clause
#include "perf/lane.hpp"

#include "perf/pattern.hpp"
#include "perf/protocol.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr unsigned callbacks_per_round = 64;
constexpr std::uint32_t timed_one_in = 64;
// The difference between the first words of the patterns of two successive calls. The number is far from every multiple
// of the step between the words of a pattern, so that bytes of another call, or at a wrong offset, do not match.
constexpr std::uint64_t pattern_step = 0xbf58476d1ce4e5b9u;

}  // namespace

Lane::Lane(rpc::Context& context, na::Addr peer, const LanePlan& plan)
    : context_(context),
      peer_(std::move(peer)),
      plan_(plan),
      end_ns_(plan.end_ns()),
      deadline_us_(std::min(after(0, plan.deadline), time_never / 2)),
      repeats_(plan.repeats, LaneRepeat{Histogram(plan.latency_bits), Histogram(plan.latency_bits), 0, {}}),
      timeline_(plan.with_timeline ? Timeline(plan.measured_from_ns(), plan.repeats * plan.repeat_ns) : Timeline()),
      last_from_ns_(plan.measured_from_ns()),
      last_(repeats_.data()),
      next_pattern_(detail::first_word(plan.seed)) {
    if (plan.rate > 0) schedule_.emplace(plan.rate, plan.arrivals, plan.begin_ns, plan.seed);
    for (std::uint32_t i = 0; i < plan.depth; ++i) {
        slots_.push_back({this});
        free_.push_back(&slots_.back());
    }
}

LaneRepeat* Lane::find_repeat(std::uint64_t at_ns) noexcept {
    const std::uint64_t from = plan_.measured_from_ns();
    if (at_ns < from || at_ns >= end_ns_) return nullptr;
    const std::uint64_t index = (at_ns - from) / plan_.repeat_ns;
    last_from_ns_ = from + index * plan_.repeat_ns;
    last_ = &repeats_[static_cast<std::size_t>(index)];
    return last_;
}

Outcomes& Lane::outcomes_at(std::uint64_t at_ns) noexcept {
    LaneRepeat* repeat = repeat_at(at_ns);
    return repeat ? repeat->outcomes : warm_up_;
}

Lane::Sent Lane::not_sent(rpc::Call* call, std::uint64_t planned_ns, Errc why) noexcept {
    if (call) call->release();
    // This side's own tables are full; calls in flight will free entries.
    if (why == Errc::overloaded && in_flight_ > 0) return Sent::no_room;
    failed(planned_ns, why);
    return Sent::failed;
}

[[gnu::always_inline]] inline Lane::Sent Lane::send(Slot& slot, std::uint64_t planned_ns, std::uint64_t now,
                                                    rpc::Call* over) noexcept {
    Errc why = Errc::ok;
    rpc::Call* const call = over ? context_.make_call_in_place_of(*over, peer_, why) : context_.make_call(peer_, why);
    if (!call) [[unlikely]]
        return not_sent(nullptr, planned_ns, why);
    call->args.rpc = echo_id;
    const TimeUs now_us = now / 1000;  // on the context's clock, which is the same, so it need not be read again
    call->args.deadline = now_us + deadline_us_;
    if (--calls_to_timed_ == 0) [[unlikely]] {
        calls_to_timed_ = timed_one_in;
        call->args.timed = true;
        call->began_us = now_us;
    }
    Bytes room = call->input_room();
    if (room.size() < plan_.payload_bytes) [[unlikely]] {
        if (const Errc refused = call->grow_input(plan_.payload_bytes, room); refused != Errc::ok)
            return not_sent(call, planned_ns, refused);
    }
    slot.pattern = next_pattern_ += pattern_step;
    fill_pattern_from(room.first(plan_.payload_bytes), slot.pattern);
    if (const Errc refused = call->forward(plan_.payload_bytes, &Lane::on_done, &slot); refused != Errc::ok)
        [[unlikely]]
        return not_sent(call, planned_ns, refused);
    slot.call = call;
    slot.planned_ns = planned_ns;
    slot.sent_ns = now;
    ++in_flight_;
    return Sent::yes;
}

void Lane::start_due() noexcept {
    if (!schedule_) {
        if (free_.empty()) return;  // each call starts the next one (ended)
        const std::uint64_t now = now_ns();
        if (now >= end_ns_) starting_ = false;
        while (starting_ && !free_.empty() && send(*free_.back(), now, now) == Sent::yes) free_.pop_back();
        return;
    }
    while (starting_ && !free_.empty()) {
        const std::uint64_t planned = schedule_->next_ns();
        const std::uint64_t now = now_ns();
        // Late calls are still sent for as long as a call may take; calls left after that are counted as unsent.
        const auto grace = static_cast<std::uint64_t>(plan_.deadline.count()) * 1000;
        if (planned >= end_ns_ || now >= end_ns_ + grace) {
            starting_ = false;
            return;
        }
        if (planned > now) return;
        const Sent sent = send(*free_.back(), planned, now);
        if (sent == Sent::no_room) return;
        if (sent == Sent::yes) free_.pop_back();
        schedule_->advance();
    }
}

void Lane::count_unsent() noexcept {
    for (; schedule_->next_ns() < end_ns_; schedule_->advance()) ++outcomes_at(schedule_->next_ns()).unsent;
}

bool Lane::turn() noexcept {
    if (starting_) start_due();
    (void)context_.progress(Microseconds{0});
    (void)context_.trigger(callbacks_per_round);
    return goes_on();
}

bool Lane::turn_undriven() noexcept {
    if (starting_) start_due();
    return goes_on();
}

bool Lane::goes_on() noexcept {
    if (starting_ || in_flight_ > 0) return true;
    if (schedule_ && !stopped_) count_unsent();
    return false;
}

void Lane::stop() noexcept {
    if (std::exchange(stopped_, true)) return;
    starting_ = false;
    for (Slot& slot : slots_) {
        if (slot.call) slot.call->cancel();
    }
}

[[gnu::always_inline]] inline void Lane::add_latency(LaneRepeat& repeat, const Slot& slot, std::uint64_t now) noexcept {
    ++repeat.outcomes.done;
    repeat.latency.record(now - slot.planned_ns);
    if (schedule_) repeat.from_sending.record(now - slot.sent_ns);
    if (plan_.with_timeline) timeline_.record(slot.planned_ns, now - slot.planned_ns);
}

// Nearly always both times are in the repeat that was found last.
[[gnu::always_inline]] inline void Lane::count(const Slot& slot, std::uint64_t now) noexcept {
    if (slot.planned_ns < last_from_ns_ || now - last_from_ns_ >= plan_.repeat_ns) [[unlikely]]
        return count_beyond(slot, now);
    ++last_->done_within;
    add_latency(*last_, slot, now);
}

void Lane::count_beyond(const Slot& slot, std::uint64_t now) noexcept {
    if (LaneRepeat* const within = repeat_at(now)) ++within->done_within;
    if (LaneRepeat* const repeat = repeat_at(slot.planned_ns)) add_latency(*repeat, slot, now);
}

[[gnu::always_inline]] inline void Lane::ended(Slot& slot, rpc::Call& call) noexcept {
    const std::uint64_t now = now_ns();
    slot.call = nullptr;
    const Errc result = call.result();
    const ConstBytes output = call.output();
    if (result != Errc::ok) [[unlikely]] {
        if (!stopped_) failed(slot.planned_ns, result);
    } else if (output.size() != plan_.payload_bytes || !has_pattern_from(output, slot.pattern)) [[unlikely]] {
        ++outcomes_at(slot.planned_ns).wrong;
        failures_in_row_ = 0;
    } else {
        failures_in_row_ = 0;
        count(slot, now);
        if (call.args.timed) [[unlikely]]
            count_parts(slot, call, now / 1000);
    }
    // A closed loop sends the next call at once, in place of this one, and reuses the time just read.
    --in_flight_;
    if (!schedule_ && starting_ && now < end_ns_) {
        if (send(slot, now, now, &call) == Sent::yes) return;
    } else {
        call.release();
    }
    free_.push_back(&slot);
}

void Lane::on_done(rpc::Call& call, void* user) noexcept {
    auto& slot = *static_cast<Slot*>(user);
    slot.lane->ended(slot, call);
}

void Lane::count_parts(const Slot& slot, const rpc::Call& call, TimeUs now) noexcept {
    rpc::CallTimes times;
    if (!repeat_at(slot.planned_ns) || !call.times(times)) return;
    times.told = now;
    const hl::CallParts parts = hl::parts_of(times);
    for (std::size_t part = 0; part < parts.size(); ++part) parts_us_[part] += parts[part];
    ++timed_;
}

void Lane::failed(std::uint64_t planned_ns, Errc code) noexcept {
    outcomes_at(planned_ns).fail(code);
    if (++failures_in_row_ < plan_.failures_in_row_max) return;
    gave_up_ = true;
    starting_ = false;
}

}  // namespace cinnabar::tools::perf
