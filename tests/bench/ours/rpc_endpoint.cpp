// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_endpoint.hpp"

#include "../harness/partner.hpp"

#include <cstring>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr Microseconds call_time{5'000'000};

struct Outcome {
    bool ended = false;
    Errc result = Errc::ok;
};

}  // namespace

void RpcEndpoint::echo(rpc::Request& request, void* user) noexcept {
    auto& self = *static_cast<RpcEndpoint*>(user);
    // Before the answer, since its receiver may ask to stop.
    self.last_call_ = self.side_ && !self.side_->running();
    const auto input = request.input();
    const auto room = request.output_room();
    if (room.size() < input.size()) {
        request.respond_error(Errc::out_of_memory);
    } else {
        std::memcpy(room.data(), input.data(), input.size());
        request.respond(input.size());
    }
    request.release();
}

RpcEndpoint::RpcEndpoint(bool listen, const rpc::Options& options, Wire wire)
    : engine_(rpc::Engine::open({open_wire(wire, listen)}).value()), context_(engine_->open_context(options).value()) {}

void RpcEndpoint::serve_slices(PartnerSide& side, Microseconds wait, Until until) {
    side_ = &side;
    while (side.wait_slice()) {
        last_call_ = false;
        while (until == Until::called ? !last_call_ : side.running()) {
            context_->progress(wait);
            context_->trigger(64);
        }
        side.end_slice();
    }
}

void RpcEndpoint::serve_echo() {
    rpc::Handler handler;
    handler.run = &echo;
    handler.target = std::shared_ptr<void>(this, [](void*) {});
    handler.name = "bench.echo";
    engine_->serve(echo_id, 0, handler).value();
}

void RpcEndpoint::call_once(const na::Addr& peer, std::size_t bytes) {
    Errc why = Errc::ok;
    auto* call = context_->make_call(peer, why);
    if (call == nullptr) throw std::runtime_error{"make_call: " + std::string{to_string(why)}};
    call->args.rpc = echo_id;
    call->args.deadline = context_->deadline_in(call_time);
    std::memset(call->input_room().data(), 0x5a, bytes);
    Outcome outcome;
    why = call->forward(
        bytes,
        [](rpc::Call& ended, void* user) noexcept {
            *static_cast<Outcome*>(user) = {true, ended.result()};
            ended.release();
        },
        &outcome);
    if (why != Errc::ok) throw std::runtime_error{"forward: " + std::string{to_string(why)}};
    while (!outcome.ended) {
        context_->progress(call_time);
        context_->trigger(64);
    }
    if (outcome.result != Errc::ok)
        throw std::runtime_error{"a call ended with " + std::string{to_string(outcome.result)}};
}

}  // namespace cinnabar::bench
