// SPDX-License-Identifier: BSD-3-Clause
// Collects reports of a node's contexts, peers, calls and RPCs, divides long reports into pages, and answers the calls
// that ask for reports.
#include "introspection.hpp"

#include "node_core.hpp"
#include "remote_table.hpp"

#include <cinnabar/base/hex.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/log_linear.hpp>
#include <cinnabar/hl/node_reports.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/rpc/peer_times.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>

namespace cinnabar::hl {
namespace {

using namespace introspection;

constexpr std::uint32_t page_max = 64;

std::uint64_t since(TimeUs then, TimeUs now) noexcept { return then == 0 || then > now ? 0 : now - then; }

template <typename In>
bool may_ask(Introspection to, const Request<In>& request) {
    if (to == Introspection::anyone) return true;
    if (request.node().transport_to(request.source()) == "self") return true;
    const auto process = request.source().process();
    return process && process->uid == ::geteuid();
}

Error not_for_you() {
    return Error(Errc::permission, "ask as the same user over shm, or set Introspection::anyone there");
}

ContextReport report_of(rpc::Context& context) {
    const rpc::Context::Counts counts = context.counts();
    ContextReport report;
    report.calls = counts.calls;
    report.requests = counts.requests;
    report.peers = counts.peers;
    report.connections = counts.connections;
    report.queued = counts.queued;
    report.leases = counts.leases;
    report.quarantined = counts.quarantined;
    report.transfers = counts.transfers;
    report.replies_pending = counts.replies_pending;
    report.replies_unsent = counts.replies_unsent;
    report.completions = context.na().completions();
    report.credits_given = counts.credits_granted;
    report.large_bytes = counts.large_bytes;
    report.decoded_bytes = counts.decoded_bytes;
    report.sessions_ended = counts.sessions_ended;
    report.sleeps = context.na().wakeups().sleeps;
    return report;
}

ContextMemory memory_of(rpc::Context& context) {
    const rpc::Context::Counts counts = context.counts();
    ContextMemory memory;
    memory.large_bytes_kept = counts.large_bytes_kept;
    memory.large_bytes_max = context.options().large_bytes_max;
    memory.decoded_bytes_max = context.options().decoded_bytes_max;
    memory.replies_kept = counts.replies_kept;
    return memory;
}

// Collects the reports of all transports. Call describe() once, when the node is opened: a diagnosis may read files,
// and the diagnosis of shm waits for up to a second if another process has locked shm's folder.
std::vector<TransportReport> describe(const std::vector<std::shared_ptr<na::Transport>>& transports) {
    std::vector<TransportReport> reports;
    for (const auto& transport : transports) {
        reports.push_back({std::string(transport->scheme()), transport->endpoints(), transport->diagnosis()});
    }
    return reports;
}

std::uint64_t us_of(const timeval& time) noexcept {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

std::vector<LineReport> recent_lines() {
    std::vector<LineReport> lines;
    const TimeUs now = steady_clock().now_us();
    for (RecentLine& line : recent_log()) {
        lines.push_back(
            {since(line.at, now), std::string(to_string(line.level)), std::move(line.module), std::move(line.text)});
    }
    return lines;
}

std::vector<FailureReport> failures_of(NodeCore& node) {
    std::vector<FailureReport> all;
    for (const RpcCounts& counts : node.stats()) {
        for (const CallFailures& failed : counts.failures)
            all.push_back({counts.name, static_cast<std::uint8_t>(failed.phase),
                           static_cast<std::uint8_t>(failed.error), failed.calls});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
    all.resize(std::min(all.size(), failures_max));
    return all;
}

NodeReport report_of(NodeCore& node, const std::vector<TransportReport>& transports) {
    rusage used{};
    (void)::getrusage(RUSAGE_SELF, &used);
    NodeReport report;
    report.process = ::getpid();
    report.user = ::geteuid();
    report.up_us = since(node.opened_us(), steady_clock().now_us());
    report.processor_us = us_of(used.ru_utime) + us_of(used.ru_stime);
    report.memory_bytes_max = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
    report.buffer_bytes = node.buffers().bytes_taken();
    report.buffer_bytes_max = node.buffers().bytes_max();
    report.shares = node.remote_table().shares();
    report.draining = node.engine().draining();
    for (Loop* loop : node.loops()) {  // in a closing node, loops may have no context
        report.contexts.push_back(loop->context() ? report_of(*loop->context()) : ContextReport());
        report.context_memory.push_back(loop->context() ? memory_of(*loop->context()) : ContextMemory());
    }
    report.transports = transports;
    node.report_pools(report);
    report.lines = recent_lines();
    report.failures = failures_of(node);
    return report;
}

std::vector<std::uint64_t> counts_of(const Histogram& histogram) {
    const auto& counts = histogram.counts;
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](std::uint64_t count) { return count != 0; });
    return {counts.begin(), last.base()};
}

std::vector<RpcReport> all_rpcs(NodeCore& node) {
    std::vector<RpcReport> all;
    for (RpcCounts& counts : node.stats()) {
        RpcReport& report = all.emplace_back();
        report.name = std::move(counts.name);
        report.calls = counts.calls;
        report.calls_failed = counts.calls_failed;
        report.requests = counts.requests;
        report.requests_failed = counts.requests_failed;
        report.call_time = counts_of(counts.call_time);
        report.serve_time = counts_of(counts.serve_time);
        report.timed = counts.parts.front().total();
        if (report.timed != 0) report.parts_us.assign(counts.parts_us.begin(), counts.parts_us.end());
    }
    for (const auto& served : node.engine().served()) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const auto& rpc) { return rpc.name == served.name; });
        if (found != all.end()) ++found->serving;
    }
    return all;
}

Page<RpcReport> page_of_rpcs(NodeCore& node, const Ask& ask) {
    Page<RpcReport> page;
    std::vector<RpcReport> all = all_rpcs(node);
    const std::size_t from = std::min<std::size_t>(ask.from, all.size());
    const std::size_t count = std::min<std::size_t>({ask.count, page_max, all.size() - from});
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    page.items.assign(std::move_iterator(first), std::move_iterator(first + static_cast<std::ptrdiff_t>(count)));
    if (count != 0 && from + count < all.size()) page.next = from + count;
    return page;
}

// Where a page of peers or calls starts: the context in the upper 16 bits, then the peer, then the call.
struct Cursor {
    std::size_t context;
    rpc::LookCursor inside;

    static constexpr unsigned item_bits = 24;
    static constexpr unsigned peer_bits = 24;

    explicit Cursor(std::uint64_t from) noexcept : context(from >> (item_bits + peer_bits)) {
        inside.item = static_cast<std::uint32_t>(from & ((1u << item_bits) - 1));
        inside.peer = static_cast<std::uint32_t>(from >> item_bits & ((1u << peer_bits) - 1));
    }
    [[nodiscard]] std::uint64_t next() const noexcept {
        return static_cast<std::uint64_t>(context) << (item_bits + peer_bits) |
               static_cast<std::uint64_t>(inside.peer) << item_bits | inside.item;
    }
};

// Looks at the context that the cursor names: `look` fills the span, `add` adds what it says of each entry to the page.
template <typename Snapshot, typename P, typename Look, typename Add>
P page_of(NodeCore& node, const Ask& ask, Look look, Add add) {
    P page;
    Cursor cursor(ask.from);
    if (cursor.context >= node.loops().size() || !node.loops()[cursor.context]->context()) return page;
    rpc::Context& context = *node.loops()[cursor.context]->context();
    std::array<Snapshot, page_max> found;
    const std::span<Snapshot> room(found.data(), std::clamp<std::uint32_t>(ask.count, 1, page_max));
    const unsigned count = look(context, cursor.inside, room);
    const TimeUs now = context.now_us();
    for (const Snapshot& shown : room.first(count)) {
        add(page, shown, now, context);
        page.items.back().context = static_cast<std::uint32_t>(cursor.context);
    }
    if (cursor.inside.over) cursor = Cursor(static_cast<std::uint64_t>(cursor.context + 1) << 48);
    if (cursor.context < node.loops().size()) page.next = cursor.next();
    return page;
}

std::string_view state_of(const rpc::PeerSnapshot& peer) noexcept {
    if (peer.leaving) return "leaving";
    switch (peer.state) {
        case na::PeerState::connected:
            return "connected";
        case na::PeerState::connecting:
            return "connecting";
        case na::PeerState::idle:
            break;
    }
    return "idle";
}

PeerReport report_of(const rpc::PeerSnapshot& peer, TimeUs now) {
    PeerReport report;
    report.peer = peer.addr.to_string();
    report.scheme = peer.scheme;
    report.state = state_of(peer);
    report.connections = peer.connections;
    report.credits = peer.credits;
    report.credits_given = peer.credits_given;
    report.calls_queued = peer.calls_queued;
    report.calls_sent = peer.calls_sent;
    report.requests = peer.requests;
    report.replies_unsent = peer.replies_unsent;
    report.large_bytes = peer.large_bytes;
    report.decoded_bytes = peer.decoded_bytes;
    report.silent_us = since(peer.heard_us, now);
    report.timed = peer.timed;
    if (peer.timed != 0) report.parts_us.assign(peer.parts_us.begin(), peer.parts_us.end());
    report.p50_us = peer.p50_us;
    report.p99_us = peer.p99_us;
    return report;
}

// By powers of two: the finer buckets of the context would be four times as many numbers.
PeerHistograms histograms_of(rpc::Context& context, const rpc::PeerSnapshot& peer) {
    PeerHistograms histograms;
    rpc::PeerTimes times;
    if (peer.timed == 0 || !context.peer_times(peer, times)) return histograms;
    for (const auto& counts : times.counts) {
        std::vector<std::uint64_t>& sums = histograms.counts.emplace_back();
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] == 0) continue;
            const auto power = static_cast<std::size_t>(std::bit_width(log_linear_from(i, rpc::PeerTimes::bits)));
            if (power >= sums.size()) sums.resize(power + 1);
            sums[power] += counts[i];
        }
    }
    return histograms;
}

std::string name_or_id(NodeCore& node, rpc::RpcId id) {
    const std::string_view name = node.name_of(id);
    return name.empty() ? "id:" + to_hex(id) : std::string(name);
}

CallReport report_of(NodeCore& node, const rpc::CallSnapshot& call, TimeUs now) {
    CallReport report;
    report.as_target = call.as_target;
    report.phase = static_cast<std::uint8_t>(call.phase);
    report.rpc = name_or_id(node, call.rpc);
    report.provider = call.provider;
    report.id = call.id;
    report.age_us = since(call.began_us, now);
    report.left_us = call.deadline_us == time_never ? time_never : call.deadline_us - std::min(now, call.deadline_us);
    report.bytes = call.bytes;
    report.credits = call.credits;
    report.ahead = call.ahead;
    report.scheme = call.scheme;
    report.peer = call.peer.to_string();
    return report;
}

// An option of serve(): the handler also answers while another one holds the thread of the loop (stuck_watch.hpp).
struct Urgent {
    void apply(ServeOptions& options) const noexcept { options.urgent = true; }
};

// Makes a handler that answers permitted callers with the result of `answer`.
template <typename R, typename Answer>
Result<void> serve_to(const NodeRef& node, const R& rpc, Introspection to, Answer answer) {
    return node.serve(
        rpc,
        [to, answer = std::move(answer)](Request<typename R::Input> request) -> Result<typename R::Output> {
            if (!may_ask(to, request)) return not_for_you();
            return answer(*request);
        },
        Urgent());
}

}  // namespace

Result<void> serve_introspection(NodeCore& core, Introspection to) {
    if (to == Introspection::off) return {};
    const NodeRef ref = core.ref();
    CINNABAR_TRY_VOID(serve_to(ref, introspection::node, to,
                               [&core, transports = describe(core.engine().transports())](const rpc::Empty&) {
                                   return report_of(core, transports);
                               }));
    CINNABAR_TRY_VOID(
        serve_to(ref, introspection::rpcs, to, [&core](const Ask& ask) { return page_of_rpcs(core, ask); }));
    CINNABAR_TRY_VOID(serve_to(ref, introspection::peers, to, [&core](const Ask& ask) {
        const bool histograms = ask.histograms;
        return page_of<rpc::PeerSnapshot, PeerPage>(
            core, ask, [](rpc::Context& context, auto& next, auto room) { return context.look_at_peers(next, room); },
            [histograms](PeerPage& page, const rpc::PeerSnapshot& peer, TimeUs now, rpc::Context& context) {
                page.items.push_back(report_of(peer, now));
                page.traffic.push_back({peer.bytes_sent, peer.bytes_received});
                if (histograms) page.histograms.push_back(histograms_of(context, peer));
            });
    }));
    return serve_to(ref, introspection::calls, to, [&core](const Ask& ask) {
        return page_of<rpc::CallSnapshot, Page<CallReport>>(
            core, ask, [](rpc::Context& context, auto& next, auto room) { return context.look_at_calls(next, room); },
            [&core](Page<CallReport>& page, const rpc::CallSnapshot& call, TimeUs now, rpc::Context&) {
                page.items.push_back(report_of(core, call, now));
            });
    });
}

}  // namespace cinnabar::hl
