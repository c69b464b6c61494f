// SPDX-License-Identifier: BSD-3-Clause
#include "watch/state_json.hpp"

#include "terminal/json.hpp"
#include "watch/resources.hpp"

#include <string_view>

namespace cinnabar::tools::watch {
namespace {

std::string_view side_name(bool as_target) { return as_target ? "target" : "origin"; }

// A JSON array of make(item) for each item.
template <typename Items, typename Make>
std::string list_of(const Items& items, Make make) {
    std::string list = "[";
    for (const auto& item : items) list.append(list.size() > 1 ? ", " : "").append(make(item));
    return list + "]";
}

std::string rpc_json(const RpcRow& rpc) {
    JsonObject object;
    object.name("rpc", rpc.name).number("per_second", rpc.per_second).number("requests", rpc.requests);
    object.number("calls", rpc.calls).number("failed", rpc.failed);
    object.number("failed_per_second", rpc.failed_per_second);
    return object.number("p50_us", rpc.p50_us).number("p99_us", rpc.p99_us).line();
}

std::string time_json(const TimeRow& row) {
    JsonObject parts;
    for (std::size_t i = 0; i < hl::call_parts; ++i) {
        const auto part = static_cast<hl::CallPart>(i);
        if (row.has(part)) parts.number(to_string(part), row.parts_us[i]);
    }
    JsonObject object;
    object.name("rpc", row.name).text("side", side_name(row.as_target)).number("counted", row.counted);
    return object.raw("mean_us", parts.line()).line();
}

std::string under_way_json(const UnderWay& row) {
    JsonObject object;
    object.name("rpc", row.name).text("side", side_name(row.as_target)).text("phase", to_string(row.phase));
    object.number("calls", row.calls);
    if (row.oldest_us != 0) object.number("oldest_us", row.oldest_us);
    return object.line();
}

std::string failure_json(const FailureRow& row) {
    JsonObject object;
    object.name("rpc", row.name).text("phase", row.phase).text("error", row.error).number("calls", row.calls);
    return object.line();
}

std::string pool_json(const PoolRow& pool) {
    JsonObject object;
    object.name("pool", pool.name).number("threads", std::uint64_t{pool.threads});
    object.number("queued", std::uint64_t{pool.queued}).number("queue_max", std::uint64_t{pool.queue_max});
    if (!pool.load) return object.line();
    object.number("running", std::uint64_t{pool.load->running}).number("resumed", std::uint64_t{pool.load->resumed});
    JsonObject queued;
    for (std::size_t i = 0; i < priority_names.size(); ++i)
        queued.number(priority_names[i], std::uint64_t{pool.load->queued[i]});
    return object.raw("queued_by_priority", queued.line()).line();
}

std::string memory_json(const State& state) {
    JsonObject object;
    for (const MemoryRow& row : memory_rows(state)) {
        object.number(row.key, row.bytes);
        if (row.max) object.number(std::string(row.key) + "_max", *row.max);
    }
    return object.number("shares", std::uint64_t{state.node.shares}).line();
}

std::string context_json(const look::ContextReport& context) {
    JsonObject object;
    object.number("calls", std::uint64_t{context.calls}).number("requests", std::uint64_t{context.requests});
    object.number("queued", std::uint64_t{context.queued}).number("completions", std::uint64_t{context.completions});
    object.number("connections", std::uint64_t{context.connections}).number("leases", std::uint64_t{context.leases});
    object.number("quarantined", std::uint64_t{context.quarantined});
    object.number("transfers", std::uint64_t{context.transfers});
    object.number("replies_pending", std::uint64_t{context.replies_pending});
    object.number("replies_unsent", std::uint64_t{context.replies_unsent});
    object.number("credits_given", context.credits_given).number("large_bytes", context.large_bytes);
    object.number("decoded_bytes", context.decoded_bytes).number("sessions_ended", context.sessions_ended);
    return object.line();
}

std::string transport_json(const look::TransportReport& transport) {
    JsonObject object;
    object.text("transport", transport.scheme).raw("endpoints", list_of(transport.endpoints, json_string));
    return object.text("diagnosis", transport.diagnosis).line();
}

std::string peer_json(const PeerRow& row) {
    const look::PeerReport& peer = row.report;
    JsonObject object;
    object.name("peer", peer.peer).name("transport", peer.scheme).name("state", peer.state);
    object.number("context", std::uint64_t{peer.context}).number("requests", std::uint64_t{peer.requests});
    object.number("calls_sent", std::uint64_t{peer.calls_sent});
    object.number("calls_queued", std::uint64_t{peer.calls_queued});
    object.number("replies_unsent", std::uint64_t{peer.replies_unsent});
    object.number("credits", std::uint64_t{peer.credits}).number("credits_given", std::uint64_t{peer.credits_given});
    object.number("large_bytes", peer.large_bytes).number("decoded_bytes", peer.decoded_bytes);
    if (row.traffic)
        object.number("bytes_sent", row.traffic->bytes_sent).number("bytes_received", row.traffic->bytes_received);
    if (!row.past.empty()) object.number("bytes_per_second", row.bytes_per_second);
    object.number("p50_us", peer.p50_us).number("p99_us", peer.p99_us);
    if (peer.silent_us != 0) object.number("silent_us", peer.silent_us);
    return object.line();
}

}  // namespace

std::string state_json(const State& state, const std::vector<RpcRow>& rows, const History& history) {
    const look::NodeReport& node = state.node;
    JsonObject object;
    object.number("process", static_cast<std::uint64_t>(node.process)).number("up_us", node.up_us);
    object.number("processor_us", node.processor_us).flag("draining", node.draining);
    object.raw("rpcs", list_of(rows, rpc_json)).raw("time", list_of(time_rows(rows), time_json));
    object.raw("in_progress", list_of(under_way(state), under_way_json));
    object.raw("failures", list_of(failure_rows(state), failure_json));
    object.raw("pools", list_of(pool_rows(state), pool_json)).raw("memory", memory_json(state));
    object.raw("contexts", list_of(node.contexts, context_json));
    object.raw("transports", list_of(node.transports, transport_json));
    return object.raw("peers", list_of(history.peers(state), peer_json)).flag("cut", state.cut).line();
}

}  // namespace cinnabar::tools::watch
