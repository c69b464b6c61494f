// SPDX-License-Identifier: BSD-3-Clause
// connections_loop SCHEME CALLS IN_FLIGHT quiet=N|turns=N: small calls to one context that has many connections, all on
// one thread, and nothing else. connections_test counts its instructions.
// quiet=N: one client makes all calls. Each of N others has made one call before, and nothing happens on its
// connection any more; as the other process that it stands for, it is not driven meanwhile.
// turns=N: N clients make IN_FLIGHT calls each in turn, and only the one whose turn it is is driven.
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cinnabar;

constexpr rpc::RpcId echo_id = rpc::rpc_id("connections_loop.echo");
constexpr std::size_t payload_bytes = 64;
// More than the rounds after which transports no longer poll a connection without messages in each of them.
constexpr int settling_rounds = 10'000;

void echo(rpc::Request& request, void*) noexcept {
    std::memcpy(request.output_room().data(), request.input().data(), payload_bytes);
    request.respond(payload_bytes);
    request.release();
}

struct Side {
    Side(std::shared_ptr<na::Transport> transport, const rpc::Options& options)
        : engine(rpc::Engine::open({std::move(transport)}).value()), context(engine->open_context(options).value()) {}

    void drive() noexcept {
        (void)context->progress(Microseconds{0});
        (void)context->trigger(64);
    }

    std::unique_ptr<rpc::Engine> engine;
    std::unique_ptr<rpc::Context> context;
};
using Sides = std::vector<std::unique_ptr<Side>>;

// Some calls of one client.
class Calls {
  public:
    Calls(Side& client, Side& server, na::Addr to, unsigned long count)
        : client_(client), server_(server), to_(std::move(to)), to_start_(count), to_end_(count) {}

    void make(unsigned long in_flight) noexcept {
        for (unsigned long i = 0; i < in_flight && to_start_ > 0; ++i) start();
        while (to_end_ > 0) {
            client_.drive();
            server_.drive();
        }
    }

  private:
    void start() noexcept {
        --to_start_;
        Errc why = Errc::ok;
        rpc::Call* const call = client_.context->make_call(to_, why);
        if (!call) std::abort();
        call->args.rpc = echo_id;
        call->args.deadline = client_.context->deadline_in(Microseconds{60'000'000});
        std::memset(call->input_room().data(), 1, payload_bytes);
        if (call->forward(payload_bytes, &ended, this) != Errc::ok) std::abort();
    }
    static void ended(rpc::Call& over, void* self) noexcept {
        auto& calls = *static_cast<Calls*>(self);
        if (over.result() != Errc::ok) std::abort();
        over.release();
        --calls.to_end_;
        if (calls.to_start_ > 0) calls.start();
    }

    Side& client_;
    Side& server_;
    const na::Addr to_;
    unsigned long to_start_;
    unsigned long to_end_;
};

// A server, and as many clients as wanted, each with a transport of its own, so with a connection of its own.
class Star {
  public:
    explicit Star(std::string scheme) : scheme_(std::move(scheme)) {
        add_builtin(registry_);
        na::TransportOptions listening;
        listening.listen = true;
        listening.receive_slots = 16'384;  // enough for all clients: their number is counted here, not scarce slots
        server_ = std::make_unique<Side>(
            registry_.open(scheme_ + (scheme_ == "tcp" ? "://127.0.0.1:0" : "://"), listening).value(), rpc::Options());
        rpc::Handler handler;
        handler.run = &echo;
        handler.name = "connections_loop.echo";
        server_->engine->serve(echo_id, 0, handler).value();
        address_ = server_->context->self_addr();
    }

    void add_clients(unsigned long count, const rpc::Options& options, Sides& to) {
        na::TransportOptions few;
        few.connections_max = 8;
        for (unsigned long i = 0; i < count; ++i) {
            to.push_back(std::make_unique<Side>(registry_.open(scheme_ + "://", few).value(), options));
            call(*to.back(), 1, 1);
        }
    }

    // Only the first contexts of a process keep in an address which peer it means. The clients of turns=N, which stand
    // for processes, have to be alike, so these contexts take that from all of them.
    void take_shortcuts(Sides& to) {
        for (std::size_t i = 0; i < na::AddrBody::shortcuts; ++i) {
            to.push_back(std::make_unique<Side>(registry_.open("self://", {}).value(), rpc::Options()));
        }
    }

    void settle() noexcept {
        for (int i = 0; i < settling_rounds; ++i) server_->drive();
    }

    void call(Side& client, unsigned long count, unsigned long in_flight) {
        Calls(client, *server_, address_, count).make(in_flight);
    }

  private:
    const std::string scheme_;
    na::Registry registry_;
    std::unique_ptr<Side> server_;
    na::Addr address_;
};

void call_beside_quiet(Star& star, unsigned long quiet, unsigned long calls, unsigned long in_flight) {
    Sides sides;
    star.add_clients(1, rpc::Options(), sides);
    rpc::Options small;
    small.calls_max = 64;
    small.requests_held_max = 16;
    star.add_clients(quiet, small, sides);
    star.settle();
    star.call(*sides.front(), calls, in_flight);
}

void call_in_turns(Star& star, unsigned long clients, unsigned long calls, unsigned long in_flight) {
    Sides others;
    star.take_shortcuts(others);
    Sides sides;
    star.add_clients(clients, rpc::Options(), sides);
    star.settle();
    std::size_t turn = 0;
    for (unsigned long made = 0; made < calls; made += in_flight) {
        star.call(*sides[turn++ % sides.size()], std::min(in_flight, calls - made), in_flight);
    }
}

}  // namespace

int main(int count, char** words) {
    const std::string_view mode = count == 5 ? std::string_view(words[4]).substr(0, 6) : std::string_view();
    if (mode != "quiet=" && mode != "turns=") {
        std::fprintf(stderr, "connections_loop SCHEME CALLS IN_FLIGHT quiet=N|turns=N\n");
        return 2;
    }
    const unsigned long calls = std::strtoul(words[2], nullptr, 10);
    const unsigned long in_flight = std::max(std::strtoul(words[3], nullptr, 10), 1ul);
    const unsigned long clients = std::strtoul(words[4] + mode.size(), nullptr, 10);
    Star star(words[1]);
    if (mode == "quiet=") {
        call_beside_quiet(star, clients, calls, in_flight);
    } else if (clients > 0) {
        call_in_turns(star, clients, calls, in_flight);
    }
    return 0;
}
