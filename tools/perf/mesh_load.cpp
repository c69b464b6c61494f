// SPDX-License-Identifier: BSD-3-Clause
#include "perf/mesh_load.hpp"

#include "perf/lane.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr std::chrono::milliseconds stop_latency{10};  // how long it sleeps before it looks whether it was stopped
constexpr unsigned callbacks_at_once = 1024;

struct LoadLane {
    std::string transport;
    Errc unreachable = Errc::ok;  // there is no lane
    std::unique_ptr<Lane> lane;
};

// One endpoint of each scheme in the addresses, as one address.
std::string schemes_of(std::span<const std::string> addresses) {
    std::vector<std::string> schemes;
    std::string joined;
    for (const auto& address : addresses) {
        const auto parsed = na::Addr::parse(address);
        if (!parsed) continue;  // told by the pair
        for (const auto& endpoint : parsed->body().endpoints) {
            auto scheme = endpoint.substr(0, endpoint.find("://"));
            if (std::ranges::find(schemes, scheme) != schemes.end()) continue;
            schemes.push_back(std::move(scheme));
            joined += (joined.empty() ? "" : ",") + endpoint;
        }
    }
    return joined;
}

LanePlan plan_of(const LoadIn& in, std::uint64_t begin_ns, std::uint64_t seed) {
    LanePlan plan;
    plan.payload_bytes = static_cast<std::size_t>(in.size);
    plan.depth = in.depth;
    plan.deadline = Microseconds(static_cast<std::int64_t>(in.call_us));
    plan.begin_ns = begin_ns;
    plan.warm_up_ns = in.warm_up_us * 1000;
    plan.repeat_ns = in.measured_us * 1000;
    plan.seed = seed;
    plan.latency_bits = load_latency_bits;
    plan.with_timeline = false;
    return plan;
}

std::deque<LoadLane> lanes_of(const hl::Node& node, const LoadIn& in) {
    std::deque<LoadLane> lanes;
    const std::uint64_t begin_ns = now_ns();
    for (const auto& target : in.targets) {
        auto& made = lanes.emplace_back();
        const auto peer = node.lookup(target);
        if (peer) {
            made.transport = node.transport_to(*peer);
            made.lane = std::make_unique<Lane>(node.rpc_context(), *peer, plan_of(in, begin_ns, lanes.size()));
        } else {
            made.unreachable = peer.code();
        }
    }
    return lanes;
}

void drive_lanes(rpc::Context& context, const std::deque<LoadLane>& lanes, const std::stop_token& stop) {
    std::vector<Lane*> going;
    for (const auto& each : lanes) {
        if (each.lane) going.push_back(each.lane.get());
    }
    for (;;) {
        if (stop.stop_requested()) std::ranges::for_each(going, &Lane::stop);
        std::erase_if(going, [](Lane* lane) { return !lane->turn_undriven(); });
        if (going.empty()) return;
        (void)context.progress(stop_latency);
        (void)context.trigger(callbacks_at_once);
    }
}

LoadPair pair_of(const LoadLane& each, const LoadIn& in) {
    LoadPair pair;
    pair.transport = each.transport;
    Outcomes outcomes;
    if (each.lane) {
        const LaneRepeat& measured = each.lane->repeats().front();
        outcomes = each.lane->warm_up();
        outcomes.add(measured.outcomes);
        outcomes.done = measured.outcomes.done;
        pair.done_within = measured.done_within;
        pair.gave_up = each.lane->gave_up();
        pair.latency = measured.latency.encoded();
    } else {
        outcomes.fail(each.unreachable);
        pair.gave_up = true;
        pair.latency = Histogram(load_latency_bits).encoded();
    }
    pair.done = outcomes.done;
    pair.wrong = outcomes.wrong;
    pair.failed_by.assign(outcomes.failed_by.begin(), outcomes.failed_by.end());
    pair.first_failure = static_cast<std::uint8_t>(outcomes.first_failure);
    pair.checked_bytes = (outcomes.done + outcomes.wrong) * in.size;
    return pair;
}

}  // namespace

Result<void> check_load(const LoadIn& in) {
    if (in.targets.empty()) return Error{Errc::invalid_argument, "a load needs a target"};
    if (in.measured_us == 0 || in.call_us == 0 || in.size == 0 || in.depth == 0)
        return Error{Errc::invalid_argument, "give a time, a timeout, a size and a depth over 0"};
    if (in.warm_up_us > load_us_max || in.measured_us > load_us_max - in.warm_up_us || in.call_us > load_us_max)
        return Error{Errc::too_large, "a load takes at most 60 seconds with its warm-up, and so does a call of it"};
    if (in.targets.size() > load_targets_max) return Error{Errc::too_large, "a load has at most 256 targets"};
    if (in.depth > load_depth_max) return Error{Errc::too_large, "a load has a depth of at most 1024"};
    if (in.size > load_size_max) return Error{Errc::too_large, "a call of a load has at most 1 MiB"};
    const std::uint64_t calls = in.targets.size() * in.depth;
    if (calls > load_calls_max || calls * in.size > load_bytes_max)
        return Error{Errc::too_large,
                     "a load has at most 16384 calls in flight to all targets, and 64 MiB in them: give a lower depth "
                     "or size"};
    return {};
}

Result<hl::Node> node_towards(std::span<const std::string> addresses, const std::string& transport,
                              hl::NodeOptions options) {
    const auto joined = schemes_of(addresses);
    if (joined.empty()) return Error{Errc::bad_address, "give addresses such as tcp://HOST:PORT"};
    CINNABAR_TRY(auto connected, hl::Node::connect(joined, std::move(options), transport));
    return std::move(connected.node);
}

Result<LoadOut> run_load(const LoadIn& in, const na::TlsOptions& tls, const std::stop_token& stop) {
    CINNABAR_TRY_VOID(check_load(in));
    hl::NodeOptions options;
    options.progress_thread = false;  // this thread drives it
    options.transport.tls = tls;
    CINNABAR_TRY(const hl::Node node, node_towards(in.targets, in.transport, std::move(options)));
    const auto lanes = lanes_of(node, in);
    drive_lanes(node.rpc_context(), lanes, stop);
    if (stop.stop_requested()) return Error{Errc::canceled, "nobody waits for this load any more"};
    LoadOut out;
    for (const auto& each : lanes) out.pairs.push_back(pair_of(each, in));
    return out;
}

}  // namespace cinnabar::tools::perf
