// SPDX-License-Identifier: BSD-3-Clause
// call_loop SCHEME CALLS IN_FLIGHT [on_arrival] [policy]: small calls between two contexts on one thread, and nothing
// else. With `policy`, a policy of ten rules applies. call_instructions_test counts its instructions; it is also useful
// under a profiler.
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace cinnabar;

constexpr rpc::RpcId echo_id = rpc::rpc_id("call_loop.echo");
constexpr std::size_t payload_bytes = 64;

void echo(rpc::Request& request, void*) noexcept {
    std::memcpy(request.output_room().data(), request.input().data(), payload_bytes);
    request.respond(payload_bytes);
    request.release();
}

// Ten rules, of which only the last one matches these calls.
std::shared_ptr<const rpc::Policy> policy() {
    std::string rules;
    for (int i = 0; i < 9; ++i) rules += "other allow key:somebody,uid:4294967294 other.*\n";
    return rpc::Policy::parse(rules + "callers allow anyone call_loop.*\n").value();
}

struct Side {
    Side(std::shared_ptr<na::Transport> transport, na::ContextId id, bool on_arrival, bool guarded) {
        engine = rpc::Engine::open({std::move(transport)}).value();
        rpc::Options options;
        options.context.id = id;
        if (guarded) options.policy = policy();
        context = engine->open_context(options).value();
        rpc::Handler handler;
        handler.run = &echo;
        handler.name = "call_loop.echo";
        handler.on_arrival = on_arrival;
        engine->serve(echo_id, 0, handler).value();
    }
    std::unique_ptr<rpc::Engine> engine;
    std::unique_ptr<rpc::Context> context;
};

struct Caller {
    rpc::Context& context;
    na::Addr peer;
    unsigned long to_start;
    unsigned long to_end;

    void start() noexcept {
        --to_start;
        Errc why = Errc::ok;
        rpc::Call* const call = context.make_call(peer, why);
        if (!call) std::abort();
        call->args.rpc = echo_id;
        call->args.deadline = context.deadline_in(Microseconds{60'000'000});
        std::memset(call->input_room().data(), 1, payload_bytes);
        const auto ended = [](rpc::Call& over, void* self) noexcept {
            auto& caller = *static_cast<Caller*>(self);
            if (over.result() != Errc::ok) std::abort();
            over.release();
            --caller.to_end;
            if (caller.to_start > 0) caller.start();
        };
        if (call->forward(payload_bytes, ended, this) != Errc::ok) std::abort();
    }
};

}  // namespace

int main(int count, char** words) {
    if (count < 4 || count > 6) {
        std::fprintf(stderr, "call_loop SCHEME CALLS IN_FLIGHT [on_arrival] [policy]\n");
        return 2;
    }
    const std::string scheme = words[1];
    const unsigned long calls = std::strtoul(words[2], nullptr, 10);
    const unsigned long in_flight = std::strtoul(words[3], nullptr, 10);

    na::Registry registry;
    add_builtin(registry);
    na::TransportOptions listening;
    listening.listen = true;
    const std::shared_ptr<na::Transport> server_side =
        registry.open(scheme + (scheme == "tcp" ? "://127.0.0.1:0" : "://"), listening).value();
    // Stands for two processes, if the transport can be opened twice.
    const std::shared_ptr<na::Transport> client_side =
        scheme == "self" ? server_side : registry.open(scheme + "://", {}).value();
    const std::span<char*> more(words + 4, static_cast<std::size_t>(count - 4));
    const auto said = [&](std::string_view word) { return std::ranges::find(more, word) != more.end(); };
    Side server(server_side, 0, said("on_arrival"), said("policy"));
    Side client(client_side, 1, said("on_arrival"), said("policy"));

    Caller caller{*client.context, server.context->self_addr(), calls, calls};
    for (unsigned long i = 0; i < in_flight && caller.to_start > 0; ++i) caller.start();
    while (caller.to_end > 0) {
        for (rpc::Context* context : {client.context.get(), server.context.get()}) {
            (void)context->progress(Microseconds{0});
            (void)context->trigger(64);
        }
    }
    return 0;
}
