// SPDX-License-Identifier: BSD-3-Clause
// One engine with one context, and the echo that figures call. Throws std::runtime_error (or BadResult).
#pragma once

#include "endpoint.hpp"

#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

class PartnerSide;

inline constexpr rpc::RpcId echo_id = rpc::rpc_id("bench.echo");

class RpcEndpoint {
  public:
    // Listens at any free address if `listen`.
    RpcEndpoint(bool listen, const rpc::Options& options, Wire wire = Wire::tcp);

    [[nodiscard]] rpc::Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] rpc::Context& context() noexcept { return *context_; }
    [[nodiscard]] std::string address() const { return engine_->transports().front()->endpoints().at(0); }

    // When a slice ends: as soon as the server notices that the other side asks for it, which a sleeping server does
    // late; or with the first call of the echo after that.
    enum class Until : bool { asked, called };
    // Serves all slices. A round of progress waits for at most `wait`.
    void serve_slices(PartnerSide& side, Microseconds wait, Until until = Until::asked);
    // The echo answers with the bytes that it receives.
    void serve_echo();
    // Makes one call of the echo with `bytes` bytes and waits for its end, up to 5 seconds. Throws if it fails.
    void call_once(const na::Addr& peer, std::size_t bytes);

  private:
    static void echo(rpc::Request& request, void* user) noexcept;

    std::unique_ptr<rpc::Engine> engine_;
    std::unique_ptr<rpc::Context> context_;
    PartnerSide* side_ = nullptr;
    bool last_call_ = false;
};

}  // namespace cinnabar::bench
