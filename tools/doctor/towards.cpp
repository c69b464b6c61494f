// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/towards.hpp"

#include "commands/address.hpp"
#include "doctor/parse.hpp"
#include "doctor/provider.hpp"
#include "perf/bulk_load.hpp"
#include "perf/call_load.hpp"
#include "perf/target.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/na/uri.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace cinnabar::tools::doctor {
namespace {

using perf::Target;

constexpr std::chrono::seconds answer_time{5};

std::string scheme_of(const std::string& endpoint) { return endpoint.substr(0, endpoint.find("://")); }

// The schemes of an address, in its order, each once.
std::vector<std::string> schemes_of(const na::Addr& addr) {
    std::vector<std::string> schemes;
    for (const auto& endpoint : addr.body().endpoints) {
        if (std::ranges::count(schemes, scheme_of(endpoint)) == 0) schemes.push_back(scheme_of(endpoint));
    }
    return schemes;
}

// The shortest round trip, in seconds. Any answer counts, even no_such_rpc.
Result<double> round_trip(const Target& target) {
    CINNABAR_TRY(const auto connected, perf::connect_to(target, 1));
    double best = 0;
    constexpr int calls = 20;
    for (int i = 0; i < calls; ++i) {
        const std::uint64_t begin = this_host().monotonic_ns();
        const auto answer = connected.node.call(perf::about_rpc, connected.peer, answer_time).wait();
        if (!answer && answer.code() != Errc::no_such_rpc) return answer.error();
        const double took = static_cast<double>(this_host().monotonic_ns() - begin) * 1e-9;
        if (i == 0) continue;  // the first one connects
        best = i == 1 ? took : std::min(best, took);
    }
    return best;
}

class Visit {
  public:
    Visit(const Host& host, const ServerQuestion& question, const std::stop_token& stop, Findings& found)
        : host_(host), question_(question), stop_(stop), found_(found) {}

    void run() {
        const auto remote = parse_remote_path(question_.uri);
        const auto addr = remote ? na::Addr::parse(remote->server) : Result<na::Addr>(remote.error());
        if (!addr) return unreached(addr.error());
        target_.uri = remote->server;
        target_.transport = question_.transport;
        target_.tls = question_.tls;
        auto trip = reach();
        if (!trip) trip = reach_otherwise(*addr, trip.error());
        if (!trip) return unreached(trip.error());
        tell_ways(*addr);
        tell_better(*addr);
        auto target = perf::find_target(target_.uri, target_.transport, {}, stop_, question_.tls);
        if (target) {
            target_ = *std::move(target);
            tell_version();
            measure();
            return tell_mtu(*addr, true);
        }
        found_.good("server-round-trip", fmt::format("an answer takes {}", latency(*trip)));
        found_.note("server-perf",
                    target.code() == Errc::no_such_rpc
                        ? "it does not serve `cinnabar perf`: bandwidth, bytes and version were not checked"
                        : "its perf service did not answer: " + target.error().message(),
                    "run `cinnabar perf serve` on that host, and give its address");
        tell_mtu(*addr, false);
    }

  private:
    static std::string latency(double seconds) { return human_latency(std::chrono::duration<double>(seconds)); }

    void unreached(const Error& error) {
        found_.problem("server-reach", exit_code(error.code),
                       fmt::format("{}: {}", printable(question_.uri), error.message()),
                       std::string(advice(error.code)));
    }
    Result<double> reach() {
        CINNABAR_TRY(const auto connected, perf::connect_to(target_, 1));
        target_.way = connected.node.transport_to(connected.peer);
        Target by_way = target_;
        by_way.transport = target_.way;
        CINNABAR_TRY(const double trip, round_trip(by_way));
        found_.good("server-reach", fmt::format("{} answers over {}", printable(question_.uri), target_.way));
        return trip;
    }
    // The best transport does not answer: tries the others.
    Result<double> reach_otherwise(const na::Addr& addr, const Error& error) {
        const std::string best = target_.way;
        if (!question_.transport.empty()) return error;
        for (const auto& scheme : schemes_of(addr)) {
            target_.transport = scheme;
            const auto trip = scheme == best ? Result<double>(error) : reach();
            if (!trip) continue;
            found_.problem("server-way", exit_code(error.code),
                           fmt::format("{}:// is preferred but does not answer: {}", best, error.message()),
                           fmt::format("--transport {} uses the one that answers; have the server publish an address "
                                       "of its own",
                                       scheme));
            unanswered_ = best;
            return trip;
        }
        return error;
    }
    void tell_ways(const na::Addr& addr) {
        for (const auto& scheme : schemes_of(addr)) {
            if (scheme == target_.way || scheme == unanswered_) continue;
            Target other = target_;
            other.transport = scheme;
            const auto trip = round_trip(other);
            if (!trip)
                found_.warning("server-way", exit_code(trip.code()),
                               fmt::format("{}:// is not taken: {}", scheme, trip.error().message()),
                               std::string(advice(trip.code())));
            else if (question_.transport.empty())
                found_.good("server-way", fmt::format("{}:// works as well, {} a call, and is less preferred", scheme,
                                                      latency(*trip)));
            else
                found_.note("server-way", fmt::format("{}:// works as well: {} a call", scheme, latency(*trip)),
                            "omit --transport to use the best one");
        }
    }
    // Reports better ways that the address does not name.
    void tell_better(const na::Addr& addr) {
        if (const auto drawback = drawback_of(target_.way); !drawback.empty())
            found_.warning("server-way", ExitCode::unsuitable, fmt::format("{}:// is taken: {}", target_.way, drawback),
                           "let the server listen on tcp:// as well, or on verbs:// or ofi+tcp;ofi_rxm://, and choose "
                           "that by --transport");
        if (target_.way != "tcp") return;
        const auto schemes = schemes_of(addr);
        const auto local = stays_on_host(addr.body().endpoints.front());
        if (local && *local) {
            if (std::ranges::count(schemes, "shm") == 0)
                found_.note("server-way", "the server is on this host and does not listen in shared memory",
                            "let it listen on shm:// as well: --listen tcp://... --listen shm://");
            return;
        }
        const bool rdma = std::ranges::any_of(schemes, [](const auto& scheme) { return scheme.starts_with("verbs"); });
        if (!rdma && !host_.list("/sys/class/infiniband").empty())
            found_.note("server-way", "this host has RDMA devices, and the server does not listen on them",
                        "if its host has such a device, too: --listen tcp://... --listen verbs://");
    }
    std::optional<unsigned> mtu_to(const na::Addr& addr) const {
        for (const auto& endpoint : addr.body().endpoints) {
            const auto uri = na::Uri::parse(endpoint);
            if (!uri || !uri->port || scheme_of(endpoint) != target_.way) continue;
            if (const auto mtu = host_.path_mtu(uri->host, *uri->port)) return mtu;
        }
        return std::nullopt;
    }
    // Call it after the transfers, because the kernel learns the path MTU only from packets that were too large.
    void tell_mtu(const na::Addr& addr, bool sent_large) {
        constexpr unsigned usual = 1500;
        if (target_.way != "tcp" && target_.way != "tcps") return;
        const auto mtu = mtu_to(addr);
        if (!mtu) return found_.note("server-mtu", "the largest packet on the way is not known");
        if (*mtu < usual)
            return found_.warning("server-mtu", ExitCode::unsuitable,
                                  fmt::format("packets of {} bytes at most go that way: a tunnel, or a link that is "
                                              "set up so; transfers are slower",
                                              *mtu),
                                  "compare `ip link` on both hosts and the devices between them");
        found_.good("server-mtu", sent_large
                                      ? fmt::format("packets of up to {} bytes go that way", *mtu)
                                      : fmt::format("the first hop takes packets of {} bytes; no large ones were "
                                                    "sent, so the rest of the way may take less",
                                                    *mtu));
    }
    void tell_version() {
        if (target_.about.release == question_.version)
            return found_.good("server-version", fmt::format("cinnabar {} on both sides", question_.version));
        found_.note("server-version",
                    fmt::format("cinnabar {} there, {} here", printable(target_.about.release), question_.version),
                    "the protocol has its own version and is checked by each connection; update the older one");
    }

    void measure() {
        perf::Plan plan;
        constexpr double parts = 3;
        plan.repeats = 1;
        plan.warm_up_seconds = 0.05;
        plan.seconds = question_.seconds / parts;
        plan.deadline = answer_time;
        perf::CallShape shape;
        shape.depth = 1;
        const auto calls = perf::run_calls(target_, shape, plan, stop_);
        if (!calls) return failed("calls", calls.error());
        bool well = judge("calls", calls->outcomes);
        if (well)
            found_.good("server-round-trip", fmt::format("a call of 64 bytes takes {} (p50), {} (p99)",
                                                         time(calls->latency, 0.5), time(calls->latency, 0.99)));
        for (const auto direction : {perf::Direction::pull, perf::Direction::push}) {
            perf::BulkShape bulk{1u << 20, 1, 8, direction, perf::MemoryKind::exposed};
            bulk.bytes = std::min<std::uint64_t>(bulk.bytes, target_.about.arena_bytes_max);
            const auto row = perf::run_bulk(target_, bulk, plan, stop_);
            const std::string what = fmt::format("transfers ({})", perf::to_string(direction));
            if (!row) return failed(what, row.error());
            const bool moved = judge(what, row->outcomes);
            if (moved)
                found_.good("server-bandwidth",
                            fmt::format("{}: {}", what, human_rate(perf::interval_of(row->bandwidths).mean)));
            well = well && moved;
        }
        if (well) found_.good("server-bytes", "every byte that was moved is right");
    }
    static std::string time(const perf::Histogram& latency, double quantile) {
        return human_latency(std::chrono::nanoseconds(latency.quantile(quantile)));
    }
    void failed(const std::string& what, const Error& error) {
        found_.problem("server-bandwidth", exit_code(error.code), fmt::format("{}: {}", what, error.message()),
                       std::string(advice(error.code)));
    }
    // Reports failures; true: there are none.
    bool judge(const std::string& what, const perf::Outcomes& outcomes) {
        if (outcomes.wrong > 0)
            found_.problem("server-bytes", ExitCode::damaged,
                           fmt::format("{}: {} of {} arrived with wrong bytes and without an error", what,
                                       outcomes.wrong, outcomes.wrong + outcomes.done),
                           "do not use this way: take another --transport, and look at the memory, the network "
                           "device and its driver; rpc::Options::checksums finds such calls");
        else if (outcomes.exit() != ExitCode::ok)
            found_.problem("server-bandwidth", outcomes.exit(),
                           fmt::format("{}: {}; {} ended well", what, outcomes.text(), outcomes.done),
                           "see what the server logs, and whether its host is busy");
        return outcomes.exit() == ExitCode::ok;
    }

    const Host& host_;
    const ServerQuestion& question_;
    const std::stop_token& stop_;
    Findings& found_;
    Target target_;
    std::string unanswered_;  // the transport that would have been used, but does not answer
};

}  // namespace

void check_server(const Host& host, const ServerQuestion& question, const std::stop_token& stop, Findings& found) {
    Visit(host, question, stop, found).run();
}

}  // namespace cinnabar::tools::doctor
