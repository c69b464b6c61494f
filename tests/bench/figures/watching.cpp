// SPDX-License-Identifier: BSD-3-Clause
// What observation costs: a node that reports its state, calls that are traced, and how close the results of `cinnabar
// perf` are to the real cost of a call.
#include "../../counts/callgrind.hpp"
#include "../harness/child.hpp"
#include "../harness/process_status.hpp"
#include "../ours/many_peers.hpp"
#include "../ours/ours.hpp"
#include "../ours/perf_tool.hpp"
#include "../ours/typed.hpp"
#include "figures.hpp"
#include "watch/state.hpp"

#include <cinnabar/cinnabar.hpp>

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

using Words = std::array<std::uint64_t, 8>;

constexpr Rpc<Words(Words)> echo{"bench.echo"};  // the RPC of RpcEndpoint
constexpr Rpc<int(int)> hold{"bench.hold"};

// A node that never answers `hold`, and makes the same call to each of its callers.
void serve_watched(PartnerSide& side) {
    NodeOptions options;
    options.introspection = hl::Introspection::anyone;
    auto node = Node::listen("tcp://127.0.0.1:0", options).value();
    std::vector<Future<int>> calls;
    node.serve(echo, [](Words words) { return words; }).value();
    node.serve(hold,
               [&](Request<int> request) -> Task<int> {
                   calls.push_back(node.call(hold, request.source(), 0, no_deadline).future());
                   (void)co_await request.node().sleep_for(std::chrono::hours(1));
                   co_return 0;
               })
        .value();
    side.announce(node.address());
    while (side.wait_slice()) {
        while (side.running()) (void)::poll(nullptr, 0, 100);
        side.end_slice();
    }
    for (auto& call : calls) call.cancel();
}

// Keeps each request until the end.
void keep(rpc::Request& request, void*) noexcept { request.detach(); }

void hold_at_both_sides(ManyPeers& peers, const na::Addr& server) {
    for (const auto& peer : peers.all()) {
        rpc::Handler handler;
        handler.run = &keep;
        handler.name = "bench.hold";
        peer->engine().serve(rpc::rpc_id("bench.hold"), 0, handler).value();
        Errc why = Errc::ok;
        auto* const call = peer->context().make_call(server, why);
        if (call == nullptr) throw std::runtime_error{"make_call: " + std::string{to_string(why)}};
        call->args.rpc = rpc::rpc_id("bench.hold");
        std::fill_n(call->input_room().begin(), sizeof(int), std::byte{0});
        if (call->forward(
                sizeof(int), [](rpc::Call& ended, void*) noexcept { ended.release(); }, nullptr) != Errc::ok)
            throw std::runtime_error{"forward"};
    }
}

// The server's processor time per second, while `look` is called each second and its peers do nothing.
double load_of(const Partner& partner, double seconds, const std::function<void()>& look) {
    const double before = status_of(partner.pid()).cpu_seconds;
    const double begin = seconds_now();
    for (double next = begin; seconds_now() < begin + seconds; next += 1) {
        look();
        while (seconds_now() < next + 1) (void)::poll(nullptr, 0, 10);
    }
    return (status_of(partner.pid()).cpu_seconds - before) / (seconds_now() - begin);
}

struct Watched {
    double load = 0;  // the load caused by the queries, as a fraction of one core
    std::size_t peers = 0;
    std::size_t calls = 0;
};

Watched watch_many(const Settings& settings) {
    constexpr std::size_t count = 1000;
    const double seconds = settings.quick ? 5 : 30;
    allow_open_files(files_of_a_peer * count + 1000);
    Partner partner{settings.cores.server, serve_watched};
    partner.begin_slice();
    ManyPeers peers{partner.announced()};
    peers.add(count);
    hold_at_both_sides(peers, na::Addr::parse(partner.announced()).value());
    peers.idle_for(2);

    const auto watcher = Node::connect(partner.announced(), {.progress_thread = false}).value();
    Watched seen;
    const auto look = [&] {
        const auto state = tools::watch::ask(watcher, {true, true, true}, Microseconds{5'000'000}).value();
        seen.peers = state.peers.size();
        seen.calls = state.calls.size();
    };
    look();
    if (seen.peers < count || seen.calls < 2 * count)
        throw std::runtime_error{"it shows " + std::to_string(seen.peers) + " peers and " + std::to_string(seen.calls) +
                                 " calls"};
    const double idle = load_of(partner, seconds, [] {});
    seen.load = std::max(0.0, load_of(partner, seconds, look) - idle);
    return seen;
}

// Runs in a separate process: after this figure, calls over shm in the same process took 40 times as long, for unknown
// reasons.
std::vector<Row> run_introspection(const Settings& settings) {
    void* const page = ::mmap(nullptr, sizeof(Watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error{"mmap"};
    run_forked([&] { new (page) Watched(watch_many(settings)); });
    const Watched seen = *static_cast<const Watched*>(page);
    (void)::munmap(page, sizeof(Watched));
    auto row = count_row("introspection.cost", 100 * seen.load, "% of a core", 0.5);
    row.remark = std::to_string(seen.peers) + " peers, " + std::to_string(seen.calls) + " calls a look";
    return {row};
}

std::vector<Row> run_trace(const Settings& settings) {
    constexpr std::size_t in_flight = 64;
    const Contest limited{"trace.cost",    "kcalls/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, 0.98},
                          "without traces"};
    const Contest all{"trace.cost.all", "kcalls/s", 1e-3, Metric::work_per_second, {}, "without traces"};
    const auto make = [](const hl::SpanExporterOptions& traces) {
        return [traces](const Settings& s) {
            return make_typed_calls(s.cores, Wire::shm, Handler::plain, in_flight, traces);
        };
    };
    const hl::SpanExporterOptions no_limits{.one_in = 100, .traces_per_second = 0, .requests_per_second = 0};
    const auto none = make({.one_in = 0});
    return {run_contest(limited, make({.one_in = 100}), none, settings),
            run_contest(all, make(no_limits), none, settings)};
}

// The instructions of a typed call over shm, both sides together.
double instructions_with(const std::string& timed) {
    constexpr unsigned long few = 64 * 64;  // each slot is timed once in 64 uses
    constexpr unsigned long many = 3 * few;
    const auto of = [&](unsigned long calls) {
        return counts::instructions(CINNABAR_TYPED_LOOP " shm " + std::to_string(calls) + " 64 timed=" + timed);
    };
    const unsigned long less = of(few);
    const unsigned long more = of(many);
    if (less == 0 || more < less) throw std::runtime_error{"callgrind counted nothing: is valgrind installed?"};
    return static_cast<double>(more - less) / (many - few);
}

std::vector<Row> run_phases(const Settings&) {
    const double none = instructions_with("0");
    return {count_row("phases.cost", instructions_with("64") - none, "instr", 5),
            count_row("phases.cost.each", instructions_with("1") - none, "instr", 60)};
}

std::vector<Row> run_perf_self(const Settings& settings) {
    constexpr std::size_t in_flight = 16;
    const Contest contest{"perf.self",   "kcalls/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, 0.95},
                          "this program"};
    return {run_contest(
        contest, [](const Settings& s) { return make_perf_tool(s.cores, s.tool, in_flight); },
        [](const Settings& s) {
            return make_our_rpc(s.cores, {64, in_flight, false, Wire::shm});
        },
        settings)};
}

}  // namespace

std::vector<Figure> watching_figures() {
    return {{"phases.cost", run_phases},
            {"introspection.cost", run_introspection},
            {"trace.cost", run_trace},
            {"perf.self", run_perf_self}};
}

}  // namespace cinnabar::bench
