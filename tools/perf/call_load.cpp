// SPDX-License-Identifier: BSD-3-Clause
#include "perf/call_load.hpp"

#include "perf/lane.hpp"

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr std::uint64_t start_gap_ns = 5'000'000;  // time for the threads to start
constexpr std::chrono::seconds connect_time{5};

std::uint64_t to_ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

// The nodes and their lanes. Lanes are destroyed first.
struct Fleet {
    std::deque<hl::Connected> clients;
    std::deque<Lane> lanes;
};

LanePlan lane_plan(const CallShape& shape, const Plan& plan, std::uint32_t lanes) {
    LanePlan result;
    result.payload_bytes = shape.payload_bytes;
    result.depth = shape.depth;
    result.rate = shape.rate / lanes;
    result.arrivals = shape.arrivals;
    result.deadline = plan.deadline;
    result.warm_up_ns = to_ns(plan.warm_up_seconds);
    result.repeat_ns = std::max<std::uint64_t>(1, to_ns(plan.seconds));
    result.repeats = plan.repeats;
    return result;
}

// Connects each context to the context of the server that it will call.
Result<void> connect_all(const Target& target, const CallShape& shape, Fleet& fleet) {
    for (std::uint32_t i = 0; i < shape.clients; ++i) {
        CINNABAR_TRY(auto connected, connect_to(target, shape.contexts));
        for (std::uint32_t j = 0; j < shape.contexts; ++j) {
            hl::CallOptions options;
            options.deadline = connect_time;
            options.context = j;
            const auto context = static_cast<na::ContextId>((i * shape.contexts + j) % target.about.contexts);
            const auto peer = connected.peer.with_context(context);
            const auto about = connected.node.call(about_rpc, peer, options).wait();
            if (!about) return about.error();
        }
        fleet.clients.push_back(std::move(connected));
    }
    return {};
}

void make_lanes(const Target& target, const CallShape& shape, LanePlan plan, Fleet& fleet) {
    const std::uint32_t lanes = shape.clients * shape.contexts;
    plan.begin_ns = now_ns() + start_gap_ns;
    for (std::uint32_t i = 0; i < lanes; ++i) {
        const auto& client = fleet.clients[i / shape.contexts];
        plan.seed = i + 1;
        LanePlan own = plan;
        // With even arrivals, the lanes start their calls in turn.
        if (shape.rate > 0 && shape.arrivals == Arrivals::even)
            own.begin_ns += static_cast<std::uint64_t>(1e9 / shape.rate * i);
        own.warm_up_ns -= std::min(own.warm_up_ns, own.begin_ns - plan.begin_ns);
        const auto context = static_cast<na::ContextId>(i % target.about.contexts);
        fleet.lanes.emplace_back(client.node.rpc_context(i % shape.contexts), client.peer.with_context(context), own);
    }
}

// Thread `index` of `count` drives every `count`-th lane until it ends.
void drive(Fleet& fleet, std::size_t index, std::size_t count, const std::stop_token& stop) {
    std::vector<Lane*> mine;
    for (std::size_t i = index; i < fleet.lanes.size(); i += count) mine.push_back(&fleet.lanes[i]);
    while (!mine.empty()) {
        if (stop.stop_requested()) {
            for (Lane* lane : mine) lane->stop();
        }
        std::erase_if(mine, [](Lane* lane) { return !lane->turn(); });
    }
}

void drive_all(Fleet& fleet, std::uint32_t wanted, const std::stop_token& stop) {
    const std::size_t count = std::min<std::size_t>(wanted == 0 ? fleet.lanes.size() : wanted, fleet.lanes.size());
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < count; ++i)
        others.emplace_back([&fleet, i, count, &stop] { drive(fleet, i, count, stop); });
    drive(fleet, 0, count, stop);
}

CallResult gather(const Fleet& fleet, const CallShape& shape, const Plan& plan) {
    CallResult result;
    result.shape = shape;
    if (shape.rate > 0) result.from_sending.emplace();
    for (const Lane& lane : fleet.lanes) {
        result.timeline.add(lane.timeline());
        result.gave_up = result.gave_up || lane.gave_up();
        result.timed += lane.timed();
        for (std::size_t part = 0; part < hl::call_parts; ++part) result.parts_us[part] += lane.parts_us()[part];
        Outcomes warm_up = lane.warm_up();
        warm_up.done = 0;
        result.outcomes.add(warm_up);
    }
    for (std::uint32_t repeat = 0; repeat < plan.repeats; ++repeat) {
        Histogram latency;
        std::uint64_t done = 0;
        for (const Lane& lane : fleet.lanes) {
            const LaneRepeat& part = lane.repeats()[repeat];
            latency.add(part.latency);
            if (result.from_sending) result.from_sending->add(part.from_sending);
            result.outcomes.add(part.outcomes);
            done += part.done_within;
        }
        result.latency.add(latency);
        result.rates.push_back(static_cast<double>(done) / plan.seconds);
        if (latency.count() == 0) continue;
        result.p50s.push_back(static_cast<double>(latency.quantile(0.5)));
        result.p99s.push_back(static_cast<double>(latency.quantile(0.99)));
    }
    result.seconds = plan.seconds * plan.repeats;
    return result;
}

}  // namespace

bool CallResult::saturated() const {
    constexpr double kept = 0.95;
    return shape.rate > 0 && (outcomes.unsent > 0 || interval_of(rates).mean < kept * shape.rate);
}

Result<CallResult> run_calls(const Target& target, const CallShape& shape, const Plan& plan,
                             const std::stop_token& stop) {
    Fleet fleet;
    CINNABAR_TRY_VOID(connect_all(target, shape, fleet));
    make_lanes(target, shape, lane_plan(shape, plan, shape.clients * shape.contexts), fleet);
    drive_all(fleet, shape.threads, stop);
    if (stop.stop_requested()) return Error{Errc::canceled, "interrupted before it was measured"};
    return gather(fleet, shape, plan);
}

}  // namespace cinnabar::tools::perf
