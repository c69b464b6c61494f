// SPDX-License-Identifier: BSD-3-Clause
#include "watch/prometheus.hpp"

#include "watch/resources.hpp"

#include <cinnabar/base/utf8.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::tools::watch {
namespace {

// Escapes the value of a label, and replaces bytes that are not UTF-8.
std::string label(std::string_view text) {
    std::string value;
    while (!text.empty()) {
        const std::size_t bytes = utf8_sequence_bytes(text);
        if (bytes == 0) {
            value += "\xef\xbf\xbd";
        } else if (text.front() == '\\' || text.front() == '"') {
            value.append(1, '\\').append(1, text.front());
        } else if (text.front() == '\n') {
            value += "\\n";
        } else {
            value += text.substr(0, bytes);
        }
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
    return value;
}

class Text {
  public:
    void family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        text_ += fmt::format("# HELP cinnabar_{} {}\n# TYPE cinnabar_{} {}\n", name, help, name, type);
    }
    void sample(std::string_view labels, double value) { line("", labels, fmt::format("{:.9g}", value)); }
    void sample(std::string_view labels, std::uint64_t value) { line("", labels, fmt::format("{}", value)); }
    void part(std::string_view suffix, std::string_view labels, std::string_view value) { line(suffix, labels, value); }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    void line(std::string_view suffix, std::string_view labels, std::string_view value) {
        if (labels.empty()) {
            text_ += fmt::format("cinnabar_{}{} {}\n", name_, suffix, value);
        } else {
            text_ += fmt::format("cinnabar_{}{}{{{}}} {}\n", name_, suffix, labels, value);
        }
    }
    std::string text_;
    std::string name_;
};

// Writes a histogram of the node as a histogram of Prometheus. The buckets for Prometheus are cumulative, and fewer:
// only edges that are powers of two are kept. Each scrape has all buckets, even empty ones: if a bucket appeared only
// with its first value, rate() would miss that value. The sum is estimated, because the node keeps no sum: each value
// counts as the middle of its bucket in the node.
void histogram(Text& text, const std::string& labels, const std::vector<std::uint64_t>& counts) {
    constexpr TimeUs last_edge_us = TimeUs{1} << 27;  // over two minutes
    std::uint64_t below = 0;
    double sum_us = 0;
    TimeUs from_us = 0;
    for (std::size_t i = 0; i < hl::Histogram::buckets; ++i) {
        const std::uint64_t count = i < counts.size() ? counts[i] : 0;
        const TimeUs to_us = hl::Histogram::lower_edge_us(i + 1);
        below += count;
        sum_us += static_cast<double>(count) * (static_cast<double>(from_us) + static_cast<double>(to_us)) / 2;
        from_us = to_us;
        if (to_us > last_edge_us || !std::has_single_bit(to_us)) continue;
        text.part("_bucket", fmt::format("{},le=\"{:.9g}\"", labels, static_cast<double>(to_us) / 1e6),
                  fmt::format("{}", below));
    }
    text.part("_bucket", labels + ",le=\"+Inf\"", fmt::format("{}", below));
    text.part("_sum", labels, fmt::format("{:.9g}", sum_us / 1e6));
    text.part("_count", labels, fmt::format("{}", below));
}

void rpcs(Text& text, const State& state) {
    const auto labels = [](const look::RpcReport& rpc, std::string_view side) {
        return fmt::format("rpc=\"{}\",side=\"{}\"", label(rpc.name), side);
    };
    text.family("requests_total", "counter", "Calls that ended at this side.");
    for (const auto& rpc : state.rpcs) {
        text.sample(labels(rpc, "target"), rpc.requests);
        text.sample(labels(rpc, "origin"), rpc.calls);
    }
    text.family("requests_failed_total", "counter", "Of these, the ones that failed.");
    for (const auto& rpc : state.rpcs) {
        text.sample(labels(rpc, "target"), rpc.requests_failed);
        text.sample(labels(rpc, "origin"), rpc.calls_failed);
    }
    text.family("call_part_seconds_total", "counter", "Time of the calls that were timed, by part.");
    for (const auto& rpc : state.rpcs) {
        if (rpc.parts_us.size() < hl::call_parts) continue;  // none, or a node of an earlier version: it has others
        for (std::size_t i = 0; i < hl::call_parts; ++i) {
            const auto part = to_string(static_cast<hl::CallPart>(i));
            text.sample(fmt::format("rpc=\"{}\",part=\"{}\"", label(rpc.name), part),
                        static_cast<double>(rpc.parts_us[i]) / 1e6);
        }
    }
    text.family("calls_timed_total", "counter", "Timed calls.");
    for (const auto& rpc : state.rpcs) {
        if (rpc.timed != 0) text.sample(fmt::format("rpc=\"{}\"", label(rpc.name)), rpc.timed);
    }
    text.family("request_seconds", "histogram", "How long calls took; edges are powers of two of a microsecond.");
    for (const auto& rpc : state.rpcs) {
        if (rpc.requests != 0) histogram(text, labels(rpc, "target"), rpc.serve_time);
        if (rpc.calls != 0) histogram(text, labels(rpc, "origin"), rpc.call_time);
    }
}

struct ContextValue {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    std::uint64_t (*value)(const look::ContextReport& context);
};

constexpr std::array<ContextValue, 14> context_values{{
    {"calls", "gauge", "Calls that were made and are not released.",
     [](const auto& c) { return std::uint64_t{c.calls}; }},
    {"requests", "gauge", "Requests not yet freed.", [](const auto& c) { return std::uint64_t{c.requests}; }},
    {"calls_queued", "gauge", "Calls waiting to be sent.", [](const auto& c) { return std::uint64_t{c.queued}; }},
    {"connections", "gauge", "Peers that are connected.", [](const auto& c) { return std::uint64_t{c.connections}; }},
    {"leases", "gauge", "Leases of lent memory.", [](const auto& c) { return std::uint64_t{c.leases}; }},
    {"leases_quarantined", "gauge", "Lent memory that a peer may still touch.",
     [](const auto& c) { return std::uint64_t{c.quarantined}; }},
    {"transfers", "gauge", "Bulk transfers.", [](const auto& c) { return std::uint64_t{c.transfers}; }},
    {"replies_unsent", "gauge", "Replies that have not been sent.",
     [](const auto& c) { return std::uint64_t{c.replies_unsent}; }},
    {"completions_waiting", "gauge", "Callbacks and handlers waiting for a thread.",
     [](const auto& c) { return std::uint64_t{c.completions}; }},
    {"credits_given", "gauge", "Requests that peers may send.", [](const auto& c) { return c.credits_given; }},
    {"large_bytes", "gauge", "Memory of large arguments and results.", [](const auto& c) { return c.large_bytes; }},
    {"decoded_bytes", "gauge", "Memory of decoded arguments.", [](const auto& c) { return c.decoded_bytes; }},
    {"replies_pending", "gauge", "Receive slots reserved for answers.",
     [](const auto& c) { return std::uint64_t{c.replies_pending}; }},
    {"sessions_ended_total", "counter", "Sessions of peers that broke the rules.",
     [](const auto& c) { return c.sessions_ended; }},
}};

void contexts(Text& text, const State& state) {
    for (const ContextValue& shown : context_values) {
        text.family(shown.name, shown.type, shown.help);
        for (std::size_t i = 0; i < state.node.contexts.size(); ++i) {
            text.sample(fmt::format("context=\"{}\"", i), shown.value(state.node.contexts[i]));
        }
    }
}

void peers(Text& text, const State& state) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const auto& peer : state.peers) ++counts[{peer.scheme, peer.state}];
    text.family("peers", "gauge", "Peers, by transport and state.");
    for (const auto& [key, count] : counts) {
        text.sample(fmt::format("transport=\"{}\",state=\"{}\"", label(key.first), label(key.second)), count);
    }
    std::map<std::string, look::PeerTraffic> bytes;
    for (std::size_t i = 0; i < std::min(state.peers.size(), state.traffic.size()); ++i) {
        look::PeerTraffic& sum = bytes[state.peers[i].scheme];
        sum.bytes_sent += state.traffic[i].bytes_sent;
        sum.bytes_received += state.traffic[i].bytes_received;
    }
    // Gauges: peers that are forgotten take their bytes with them.
    text.family("peers_sent_bytes", "gauge", "Bytes sent to the present peers, by transport.");
    for (const auto& [scheme, sum] : bytes) text.sample(fmt::format("transport=\"{}\"", label(scheme)), sum.bytes_sent);
    text.family("peers_received_bytes", "gauge", "Bytes received from the present peers, by transport.");
    for (const auto& [scheme, sum] : bytes)
        text.sample(fmt::format("transport=\"{}\"", label(scheme)), sum.bytes_received);
}

// The times of the calls to one peer, from all contexts.
struct PeerSums {
    std::string labels;
    std::uint64_t timed = 0;
    std::array<std::uint64_t, hl::call_parts> parts_us{};
    std::array<std::array<std::uint64_t, 33>, hl::call_parts + 1> counts{};  // as PeerHistograms
};

void add(PeerSums& sums, const look::PeerReport& peer, const look::PeerHistograms& histograms) {
    sums.timed += peer.timed;
    for (std::size_t i = 0; i < std::min(sums.parts_us.size(), peer.parts_us.size()); ++i)
        sums.parts_us[i] += peer.parts_us[i];
    for (std::size_t i = 0; i < std::min(sums.counts.size(), histograms.counts.size()); ++i) {
        const auto& counts = histograms.counts[i];
        for (std::size_t power = 0; power < std::min(sums.counts[i].size(), counts.size()); ++power)
            sums.counts[i][power] += counts[power];
    }
}

// The peers with the most timed calls, so that the number of series does not grow with the number of peers.
std::vector<PeerSums> busiest(const State& state) {
    std::map<std::string, PeerSums> by_labels;
    for (std::size_t i = 0; i < std::min(state.peers.size(), state.histograms.size()); ++i) {
        const look::PeerReport& peer = state.peers[i];
        if (state.histograms[i].counts.size() != hl::call_parts + 1) continue;  // none, or of another version
        std::string labels = fmt::format("peer=\"{}\",transport=\"{}\"", label(peer.peer), label(peer.scheme));
        add(by_labels[labels], peer, state.histograms[i]);
    }
    std::vector<PeerSums> sums;
    for (auto& [labels, sum] : by_labels) {
        sum.labels = labels;
        sums.push_back(std::move(sum));
    }
    std::ranges::stable_sort(sums, [](const PeerSums& a, const PeerSums& b) { return a.timed > b.timed; });
    sums.resize(std::min(sums.size(), histogram_peers_max));
    return sums;
}

void peer_times(Text& text, const State& state) {
    text.family("peer_call_part_seconds", "histogram",
                "Timed calls to the busiest peers, by part and until the answer; edges are powers of four.");
    for (const PeerSums& peer : busiest(state)) {
        std::uint64_t whole_us = 0;
        for (std::size_t i = 0; i <= hl::call_parts; ++i) {
            const bool is_part = i < hl::call_parts;
            const std::string labels = fmt::format(
                "{},part=\"{}\"", peer.labels, is_part ? to_string(static_cast<hl::CallPart>(i)) : "until the answer");
            constexpr std::size_t last_power = 28;  // over four minutes
            std::uint64_t below = 0;
            for (std::size_t power = 0; power < peer.counts[i].size(); ++power) {
                below += peer.counts[i][power];
                if (power % 2 != 0 || power > last_power) continue;
                text.part("_bucket",
                          fmt::format("{},le=\"{:.9g}\"", labels, static_cast<double>(std::uint64_t{1} << power) / 1e6),
                          fmt::format("{}", below));
            }
            if (is_part) whole_us += peer.parts_us[i];
            text.part("_bucket", labels + ",le=\"+Inf\"", fmt::format("{}", below));
            text.part("_sum", labels,
                      fmt::format("{:.9g}", static_cast<double>(is_part ? peer.parts_us[i] : whole_us) / 1e6));
            text.part("_count", labels, fmt::format("{}", below));
        }
    }
}

void stuck(Text& text, const State& state) {
    std::map<std::pair<bool, std::uint8_t>, double> oldest;
    for (const auto& call : state.calls) {
        double& age = oldest[{call.as_target, call.phase}];
        age = std::max(age, static_cast<double>(call.age_us) / 1e6);
    }
    text.family("oldest_call_seconds", "gauge", "Age of the oldest call in progress, by phase.");
    for (const auto& [key, age] : oldest) {
        text.sample(fmt::format("side=\"{}\",phase=\"{}\"", key.first ? "target" : "origin",
                                to_string(static_cast<rpc::CallPhase>(key.second))),
                    age);
    }
}

// Two pools may have the same name: their values are added up, as if they were one.
struct PoolValue {
    std::string_view name;
    std::string_view help;
    std::uint64_t (*value)(const PoolRow& pool);
};

constexpr std::array<PoolValue, 5> pool_values{{
    {"pool_threads", "Threads of a pool.", [](const PoolRow& p) { return std::uint64_t{p.threads}; }},
    {"pool_running", "Threads of a pool that run a handler.",
     [](const PoolRow& p) { return std::uint64_t{p.load ? p.load->running : 0}; }},
    {"pool_resumed", "Handlers that have begun and wait for a thread of a pool.",
     [](const PoolRow& p) { return std::uint64_t{p.load ? p.load->resumed : 0}; }},
    {"pool_queued", "Requests waiting for a thread of a pool.",
     [](const PoolRow& p) { return std::uint64_t{p.queued}; }},
    {"pool_queue_max", "The most requests that may wait for a pool.",
     [](const PoolRow& p) { return std::uint64_t{p.queue_max}; }},
}};

void pools(Text& text, const State& state) {
    const auto rows = pool_rows(state);
    for (const PoolValue& shown : pool_values) {
        text.family(shown.name, "gauge", shown.help);
        std::map<std::string, std::uint64_t> sums;
        for (const PoolRow& pool : rows) sums[label(pool.name)] += shown.value(pool);
        for (const auto& [name, sum] : sums) text.sample(fmt::format("pool=\"{}\"", name), sum);
    }
    text.family("pool_queued_by_priority", "gauge", "Requests waiting for a thread of a pool, by priority.");
    std::map<std::string, std::array<std::uint64_t, priority_names.size()>> queued;
    for (const PoolRow& pool : rows) {
        if (!pool.load) continue;
        auto& sums = queued[label(pool.name)];
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += pool.load->queued[i];
    }
    for (const auto& [name, sums] : queued) {
        for (std::size_t i = 0; i < sums.size(); ++i)
            text.sample(fmt::format("pool=\"{}\",priority=\"{}\"", name, priority_names[i]), sums[i]);
    }
}

void calls_in_progress(Text& text, const State& state) {
    text.family("calls_in_progress", "gauge", "Calls in progress, by phase.");
    for (const UnderWay& row : under_way(state)) {
        text.sample(fmt::format("rpc=\"{}\",side=\"{}\",phase=\"{}\"", label(row.name),
                                row.as_target ? "target" : "origin", to_string(row.phase)),
                    row.calls);
    }
}

void failures(Text& text, const State& state) {
    std::map<std::string, std::uint64_t> sums;
    for (const FailureRow& row : failure_rows(state))
        sums[fmt::format("rpc=\"{}\",phase=\"{}\",error=\"{}\"", label(row.name), row.phase, row.error)] += row.calls;
    text.family("calls_failed_total", "counter", "Calls of this side that failed, by where they ended and by error.");
    for (const auto& [labels, sum] : sums) text.sample(labels, sum);
}

void process(Text& text, const State& state) {
    text.family("up_seconds", "gauge", "Since the node was opened.");
    text.sample("", static_cast<double>(state.node.up_us) / 1e6);
    text.family("processor_seconds_total", "counter", "Processor time of the process.");
    text.sample("", static_cast<double>(state.node.processor_us) / 1e6);
    text.family("memory_max_bytes", "gauge", "Peak resident memory.");
    text.sample("", state.node.memory_bytes_max);
    text.family("buffer_bytes", "gauge", "Memory of the node's buffers.");
    text.sample("", state.node.buffer_bytes);
    text.family("shares", "gauge", "Memories that the node shares by tokens.");
    text.sample("", std::uint64_t{state.node.shares});
    text.family("memory_limit_bytes", "gauge", "Limits of memory, by what it is for.");
    for (const MemoryRow& row : memory_rows(state)) {
        if (row.max) text.sample(fmt::format("of=\"{}\"", row.key), *row.max);
    }
}

}  // namespace

std::string prometheus_text(const State& state) {
    Text text;
    process(text, state);
    contexts(text, state);
    rpcs(text, state);
    peers(text, state);
    peer_times(text, state);
    pools(text, state);
    calls_in_progress(text, state);
    failures(text, state);
    stuck(text, state);
    return text.take();
}

}  // namespace cinnabar::tools::watch
