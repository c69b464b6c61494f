// SPDX-License-Identifier: BSD-3-Clause
// perf_loop SCHEME CALLS IN_FLIGHT: the calls of call_loop, made by a lane of `cinnabar perf calls` to its echo.
// call_instructions_test compares the instructions of the two.
#include "perf/echo.hpp"
#include "perf/lane.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using namespace cinnabar;
using namespace cinnabar::tools;

struct Side {
    Side(const std::string& uri, bool listen, na::ContextId id) {
        na::Registry registry;
        add_builtin(registry);
        na::TransportOptions transport;
        transport.listen = listen;
        engine = rpc::Engine::open({registry.open(uri, transport).value()}).value();
        rpc::Options options;
        options.context.id = id;
        context = engine->open_context(options).value();
    }
    std::unique_ptr<rpc::Engine> engine;
    std::unique_ptr<rpc::Context> context;
};

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        std::fprintf(stderr, "perf_loop SCHEME CALLS IN_FLIGHT\n");
        return 2;
    }
    const std::string scheme = words[1];
    const unsigned long calls = std::strtoul(words[2], nullptr, 10);
    const Side server(scheme + (scheme == "tcp" ? "://127.0.0.1:0" : "://"), true, 0);
    const Side client(scheme + "://", false, 1);
    perf::serve_echo(*server.engine).value();

    perf::LanePlan plan;
    plan.depth = static_cast<std::uint32_t>(std::strtoul(words[3], nullptr, 10));
    plan.begin_ns = steady_ns();
    plan.repeat_ns = 3'600'000'000'000;
    perf::Lane lane(*client.context, server.engine->self_addr(), plan);
    const auto& outcomes = lane.repeats().front().outcomes;
    while (outcomes.done < calls && outcomes.failed_by == decltype(outcomes.failed_by)()) {
        (void)lane.turn();
        server.context->progress(Microseconds{0});
        server.context->trigger(64);
    }
    lane.stop();
    while (lane.turn()) {
        server.context->progress(Microseconds{0});
        server.context->trigger(64);
    }
    return outcomes.done >= calls && outcomes.wrong == 0 && !lane.gave_up() ? 0 : 1;
}
