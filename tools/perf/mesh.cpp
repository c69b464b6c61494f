// SPDX-License-Identifier: BSD-3-Clause
#include "perf/mesh.hpp"

#include "commands/address.hpp"
#include "perf/mesh_load.hpp"
#include "perf/protocol.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/hl/future.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <set>
#include <type_traits>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr Microseconds greeting_time{5'000'000};
constexpr Microseconds gathering_time{10'000'000};  // for the answers, beside the time of the load
constexpr std::chrono::milliseconds stop_checked_every{50};

std::uint64_t to_us(double seconds) { return static_cast<std::uint64_t>(seconds * 1e6); }

template <typename In>
In load_of(const MeshPlan& plan) {
    In in;
    in.warm_up_us = to_us(plan.warm_up_seconds);
    in.measured_us = to_us(plan.seconds);
    in.call_us = static_cast<std::uint64_t>(plan.deadline.count());
    in.size = plan.size;
    in.depth = plan.depth;
    in.transport = plan.transport;
    if constexpr (std::is_same_v<In, BulkLoadIn>) in.push = plan.bulk == Direction::push;
    return in;
}

// Cancels the call when it is stopped.
template <typename Out>
Result<Out> answer_of(hl::Future<Out>& future, const std::stop_token& stop) {
    while (!future.wait_for(stop_checked_every)) {
        if (stop.stop_requested()) future.cancel();
    }
    return future.get();
}

// Errors travel without their hints.
Error told_by(const std::string& uri, Error error) {
    switch (error.code) {
        case Errc::no_such_rpc:
            error.hint = "that server has no perf service of this version: start `cinnabar perf serve --mesh`";
            break;
        case Errc::permission:
            error.hint = "that server runs no load for others: start it with --mesh";
            break;
        case Errc::busy:
            error.hint = "that server runs the load of another mesh: wait for its end";
            break;
        default:
            break;
    }
    error.subject = printable(uri);
    return error;
}

bool is_code(std::uint64_t code) { return code < errc_count && is_known(static_cast<Errc>(code)); }

Result<MeshPair> mesh_pair_of(LoadPair sent, const MeshPlan& plan) {
    const auto latency = Histogram::decoded(sent.latency, load_latency_bits);
    if (!latency || latency->count() != sent.done || sent.failed_by.size() != errc_count ||
        !is_code(sent.first_failure))
        return Error{Errc::protocol, "that server sent figures that contradict each other: is it of this version?"};
    MeshPair pair;
    pair.transport = std::move(sent.transport);
    pair.outcomes.done = sent.done;
    pair.outcomes.wrong = sent.wrong;
    std::ranges::copy(sent.failed_by, pair.outcomes.failed_by.begin());
    pair.outcomes.first_failure = static_cast<Errc>(sent.first_failure);
    const bool failed = pair.outcomes.failed() > 0;
    if (failed != (pair.outcomes.first_failure != Errc::ok) || (sent.gave_up && !failed))
        return Error{Errc::protocol, "that server sent failures without a reason, or a reason without failures"};
    pair.per_second = static_cast<double>(sent.done_within) / plan.seconds;
    pair.checked_bytes = sent.checked_bytes;
    pair.gave_up = sent.gave_up;
    pair.latency_bytes = std::move(sent.latency);
    return pair;
}

// Bytes per second of transfers that took `busy_us` together.
double rate_of(std::uint64_t transfers, std::uint64_t busy_us, const MeshPlan& plan) {
    if (busy_us == 0) return 0;
    return static_cast<double>(transfers) * static_cast<double>(plan.size) * 1e6 / static_cast<double>(busy_us);
}

bool is_busy_time(std::uint64_t busy_us, std::uint64_t transfers, const MeshPlan& plan) {
    return busy_us <= to_us(plan.seconds) + 1 && (busy_us != 0 || transfers == 0);  // it is rounded up
}

Result<MeshPair> mesh_pair_of(BulkLoadPair sent, const MeshPlan& plan) {
    const std::uint64_t transfers = sent.transfers.done_within;
    if (!is_busy_time(sent.busy_us, transfers, plan))
        return Error{Errc::protocol, "that server sent a time that is not that of its transfers"};
    CINNABAR_TRY(auto pair, mesh_pair_of(std::move(sent.transfers), plan));
    pair.bytes_per_second = rate_of(transfers, sent.busy_us, plan);
    return pair;
}

template <typename Pair>
Result<std::vector<MeshPair>> mesh_pairs_of(std::vector<Pair> sent, std::size_t targets, const MeshPlan& plan) {
    if (sent.size() != targets)
        return Error{Errc::protocol, "that server did not answer for each other one: is it of this version?"};
    std::vector<MeshPair> pairs;
    for (auto& each : sent) {
        CINNABAR_TRY(auto pair, mesh_pair_of(std::move(each), plan));
        pairs.push_back(std::move(pair));
    }
    return pairs;
}

// Stores the answer of a server in `server`.
Result<void> take_into(MeshServer& server, LoadOut sent, std::size_t targets, const MeshPlan& plan) {
    CINNABAR_TRY(server.to_others, mesh_pairs_of(std::move(sent.pairs), targets, plan));
    return {};
}
Result<void> take_into(MeshServer& server, BulkLoadOut sent, std::size_t targets, const MeshPlan& plan) {
    std::vector<std::uint64_t> within;
    for (const auto& each : sent.pairs) within.push_back(each.transfers.done_within);
    CINNABAR_TRY(auto pairs, mesh_pairs_of(std::move(sent.pairs), targets, plan));
    std::uint64_t transfers = 0;  // of the pairs that went well
    for (std::size_t i = 0; i < pairs.size(); ++i) transfers += pairs[i].well() ? within[i] : 0;
    if (!is_busy_time(sent.busy_us, transfers, plan))
        return Error{Errc::protocol, "that server sent a time that is not that of its transfers"};
    server.bytes_per_second = rate_of(transfers, sent.busy_us, plan);
    server.to_others = std::move(pairs);
    return {};
}

// The conductor: a node with a thread of its own, so that all answers are read while one is waited for.
class Conductor {
  public:
    Conductor(hl::Node node, MeshResults& results, const std::stop_token& stop)
        : node_(std::move(node)), results_(results), stop_(stop) {}

    // Connects to all servers, so that their loads begin at the same time.
    void greet() {
        std::vector<hl::Future<AboutOut>> futures;
        for (auto& server : results_.servers) {
            const auto peer = node_.lookup(server.uri);
            if (!peer) server.lost = told_by(server.uri, peer.error());
            peers_.push_back(peer ? *peer : na::Addr());
            futures.push_back(peer ? node_.call(about_rpc, *peer, greeting_time).future() : hl::Future<AboutOut>());
        }
        for (std::size_t i = 0; i < futures.size(); ++i) {
            auto& server = results_.servers[i];
            if (!futures[i].valid()) continue;
            auto about = answer_of(futures[i], stop_);
            if (!about) {
                server.lost = told_by(server.uri, std::move(about).error());
            } else if (about->version != protocol_version) {
                server.lost = Error{Errc::protocol, "other perf version: update one side", printable(server.uri)};
            } else {
                server.release = std::move(about->release);
            }
        }
    }

    // Has all servers that answered run their loads.
    void measure() {
        if (results_.plan.bulk) {
            measure_by(bulk_load_rpc, 3);
        } else {
            measure_by(load_rpc, 1);
        }
    }

  private:
    // `calls`: how many calls, one after the other, a load may have to wait for at its end.
    template <typename In, typename Out>
    void measure_by(const hl::Rpc<Out(In)>& rpc, std::uint64_t calls) {
        const In load = load_of<In>(results_.plan);
        const auto span = static_cast<std::int64_t>(load.warm_up_us + load.measured_us + calls * load.call_us);
        const hl::CallOptions options{.deadline = Microseconds(span) + gathering_time};
        std::vector<hl::Future<Out>> futures(results_.servers.size());
        for (std::size_t i = 0; i < futures.size() && !stop_.stop_requested(); ++i) {
            if (results_.servers[i].lost) continue;
            In own = load;
            own.targets = others_of(i);
            futures[i] = node_.call(rpc, peers_[i], own, options).future();
        }
        for (std::size_t i = 0; i < futures.size(); ++i) {
            if (futures[i].valid()) keep(results_.servers[i], answer_of(futures[i], stop_));
        }
    }
    [[nodiscard]] std::vector<std::string> others_of(std::size_t own) const {
        std::vector<std::string> others;
        for (std::size_t i = 0; i < results_.servers.size(); ++i) {
            if (i != own) others.push_back(results_.servers[i].uri);
        }
        return others;
    }
    template <typename Out>
    void keep(MeshServer& server, Result<Out> sent) const {
        auto kept = std::move(sent).and_then(
            [&](Out out) { return take_into(server, std::move(out), results_.servers.size() - 1, results_.plan); });
        if (!kept) server.lost = told_by(server.uri, std::move(kept).error());
    }

    hl::Node node_;
    MeshResults& results_;
    const std::stop_token& stop_;
    std::vector<na::Addr> peers_;
};

template <typename In>
Result<void> check_plan(const MeshPlan& plan, std::size_t targets) {
    In load = load_of<In>(plan);
    load.targets.resize(targets);
    return check_load(load);
}

Result<MeshResults> servers_to_measure(const std::vector<std::string>& servers, const MeshPlan& plan) {
    MeshResults results;
    results.plan = plan;
    std::set<std::string> seen;
    for (const auto& uri : servers) {
        CINNABAR_TRY(auto remote, parse_remote_path(uri));
        CINNABAR_TRY(const auto address, na::Addr::parse(remote.server));
        if (!seen.insert(remote.server).second)
            return Error{Errc::invalid_argument, "give each server once", printable(uri)};
        results.servers.emplace_back().uri = std::move(remote.server);
    }
    if (results.servers.size() < 2)
        return Error{Errc::invalid_argument, "give at least two servers, each started by `cinnabar perf serve --mesh`"};
    const std::size_t targets = results.servers.size() - 1;
    CINNABAR_TRY_VOID(plan.bulk ? check_plan<BulkLoadIn>(plan, targets) : check_plan<LoadIn>(plan, targets));
    return results;
}

}  // namespace

Histogram MeshPair::latency() const {
    auto decoded = Histogram::decoded(latency_bytes, load_latency_bits);
    return decoded ? *std::move(decoded) : Histogram(load_latency_bits);
}

const MeshPair* MeshResults::pair(std::size_t origin, std::size_t target) const noexcept {
    const auto& server = servers[origin];
    if (origin == target || server.lost) return nullptr;
    return &server.to_others[target < origin ? target : target - 1];
}

MeshTotal MeshResults::total() const {
    MeshTotal total;
    total.pairs = servers.size() * (servers.size() - 1);
    for (const auto& server : servers) {
        total.bytes_per_second += server.bytes_per_second;
        for (const auto& pair : server.to_others) {
            total.checked_bytes += pair.checked_bytes;
            total.done += pair.outcomes.done;
            total.failed += pair.outcomes.failed();
            total.wrong += pair.outcomes.wrong;
            if (!pair.well()) continue;
            ++total.well;
            total.per_second += pair.per_second;
            total.latency.add(pair.latency());
        }
    }
    return total;
}

ExitCode MeshResults::exit() const noexcept {
    for (const auto& server : servers) {
        if (server.lost) return exit_code(server.lost->code);
    }
    for (const auto& server : servers) {
        for (const auto& pair : server.to_others) {
            if (pair.outcomes.exit() != ExitCode::ok) return pair.outcomes.exit();
        }
    }
    return ExitCode::ok;
}

Result<std::vector<std::string>> read_servers(const std::string& path) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return files::file_error(errno != 0 ? errno : EIO, "cannot read the servers", path);
    std::vector<std::string> servers;
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos || line[first] == '#') continue;
        servers.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
    }
    if (file.bad()) return files::file_error(EIO, "cannot read the servers", path);
    return servers;
}

Result<MeshResults> measure_mesh(const std::vector<std::string>& servers, const MeshPlan& plan,
                                 const std::stop_token& stop) {
    CINNABAR_TRY(auto results, servers_to_measure(servers, plan));
    std::vector<std::string> addresses;
    for (const auto& server : results.servers) addresses.push_back(server.uri);
    hl::NodeOptions options;
    options.transport.tls = plan.tls;
    CINNABAR_TRY(auto node, node_towards(addresses, plan.transport, std::move(options)));
    Conductor conductor(std::move(node), results, stop);
    conductor.greet();
    conductor.measure();
    if (stop.stop_requested()) return Error{Errc::canceled, "interrupted before it was measured"};
    return results;
}

}  // namespace cinnabar::tools::perf
