// SPDX-License-Identifier: BSD-3-Clause
#include "watch/history.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools::watch {
namespace {

using Counts = std::vector<std::uint64_t>;

// The difference to `before`; if the node was restarted, all counts.
Counts since(const Counts& now, const Counts& before) {
    Counts counts = now;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (i >= counts.size() || counts[i] < before[i]) return now;
        counts[i] -= before[i];
    }
    return counts;
}

std::uint64_t ended(const look::RpcReport& rpc) { return rpc.calls + rpc.requests; }
std::uint64_t failed(const look::RpcReport& rpc) { return rpc.calls_failed + rpc.requests_failed; }

double rate(std::uint64_t now, std::uint64_t before, double seconds) {
    return seconds <= 0 || now < before ? 0 : static_cast<double>(now - before) / seconds;
}

// Fills in where the time went.
void add_times(RpcRow& row, const look::RpcReport& now, const look::RpcReport& before) {
    const Counts fresh = since(now.serve_time, before.serve_time);
    const Counts& shown = total(fresh) != 0 ? fresh : now.serve_time;
    row.handled = total(shown);
    row.handler_us = mean_us(shown);
    if (now.parts_us.size() < hl::call_parts) return;  // none, or a node of an earlier version, which has other parts
    Counts before_us = before.parts_us;
    before_us.resize(hl::call_parts);
    Counts now_us = now.parts_us;  // a node may send any number of them
    now_us.resize(hl::call_parts);
    Counts parts_us = since(now_us, before_us);
    row.timed = now.timed > before.timed ? now.timed - before.timed : now.timed;
    if (row.timed == now.timed) parts_us = now_us;
    for (std::size_t i = 0; row.timed != 0 && i < hl::call_parts; ++i)
        row.parts_us[i] = static_cast<double>(parts_us[i]) / static_cast<double>(row.timed);
}

}  // namespace

void History::take_peers(const State& state) {
    if (state.peers.empty()) return;  // nobody asked for them
    const double seconds = peers_when_ ? std::chrono::duration<double>(state.when - *peers_when_).count() : 0;
    std::map<PeerKey, SeenPeer> present;
    for (std::size_t i = 0; i < std::min(state.peers.size(), state.traffic.size()); ++i) {
        const look::PeerReport& peer = state.peers[i];
        const std::uint64_t bytes = state.traffic[i].bytes_sent + state.traffic[i].bytes_received;
        PeerKey key(peer.context, peer.scheme, peer.peer);
        SeenPeer& seen = present[key];
        if (const auto before = peers_.find(key); before != peers_.end()) {
            seen = std::move(before->second);
            if (seconds > 0) seen.past.push_back(rate(bytes, seen.bytes, seconds));
            if (seen.past.size() > kept) seen.past.pop_front();
        }
        seen.bytes = bytes;
    }
    peers_ = std::move(present);
    peers_when_ = state.when;
}

std::vector<PeerRow> History::peers(const State& state) const {
    std::vector<PeerRow> rows;
    for (std::size_t i = 0; i < state.peers.size(); ++i) {
        PeerRow& row = rows.emplace_back();
        row.report = state.peers[i];
        if (i < state.traffic.size()) row.traffic = state.traffic[i];
        const auto seen = peers_.find(PeerKey(row.report.context, row.report.scheme, row.report.peer));
        if (seen == peers_.end() || seen->second.past.empty()) continue;
        row.past.assign(seen->second.past.begin(), seen->second.past.end());
        row.bytes_per_second = row.past.back();
    }
    return rows;
}

std::vector<RpcRow> History::take(const State& state) {
    take_peers(state);
    const double seconds = when_ ? std::chrono::duration<double>(state.when - *when_).count() : 0;
    if (seconds > 0 && state.node.processor_us >= processor_us_) {
        processor_share_ = static_cast<double>(state.node.processor_us - processor_us_) / 1e6 / seconds;
    }
    std::vector<RpcRow> rows;
    for (const look::RpcReport& rpc : state.rpcs) {
        Seen& seen = rpcs_[rpc.name];
        RpcRow row;
        row.name = rpc.name;
        row.requests = rpc.requests;
        row.calls = rpc.calls;
        row.failed = failed(rpc);
        row.per_second = rate(ended(rpc), ended(seen.last), seconds);
        row.failed_per_second = rate(failed(rpc), failed(seen.last), seconds);
        const Counts& served = rpc.requests != 0 ? rpc.serve_time : rpc.call_time;
        const Counts& before = rpc.requests != 0 ? seen.last.serve_time : seen.last.call_time;
        const Counts fresh = since(served, before);
        const Counts& shown = total(fresh) != 0 ? fresh : served;
        row.p50_us = quantile_us(shown, 0.5);
        row.p99_us = quantile_us(shown, 0.99);
        add_times(row, rpc, seen.last);
        if (seconds > 0) seen.past.push_back(row.per_second);
        if (seen.past.size() > kept) seen.past.pop_front();
        row.past.assign(seen.past.begin(), seen.past.end());
        seen.last = rpc;
        rows.push_back(std::move(row));
    }
    when_ = state.when;
    processor_us_ = state.node.processor_us;
    return rows;
}

}  // namespace cinnabar::tools::watch
