// SPDX-License-Identifier: BSD-3-Clause
#include "caller_totals.hpp"
#include "context_core.hpp"
#include "far_moves.hpp"
#include "handler_table.hpp"

#include <cinnabar/rpc/engine.hpp>

#include <algorithm>

namespace cinnabar::rpc {

struct Engine::Shared {
    const std::uint64_t routes = na::new_routes();
    std::vector<std::shared_ptr<na::Transport>> transports;
    HandlerTable handlers;
    CallerTable callers;
    std::atomic<bool> draining{false};
    std::mutex mutex;
    std::shared_ptr<bulk::FarLender> far_lender;  // guarded by mutex
};

Engine::Engine(std::unique_ptr<Shared> shared) noexcept : shared_(std::move(shared)) {}
Engine::~Engine() = default;

std::uint64_t Engine::routes() const noexcept { return shared_->routes; }

Result<std::unique_ptr<Engine>> Engine::open(std::vector<std::shared_ptr<na::Transport>> transports) {
    if (transports.empty()) return Error(Errc::invalid_argument, "an engine needs a transport");
    auto shared = std::make_unique<Shared>();
    shared->transports = std::move(transports);
    return std::unique_ptr<Engine>(new Engine(std::move(shared)));
}

Result<std::unique_ptr<Context>> Engine::open_context(const Options& options) {
    auto core = std::make_shared<ContextCore>(*this, options);
    CINNABAR_TRY_VOID(core->open());
    return std::unique_ptr<Context>(new Context(std::move(core)));
}

Result<void> Engine::serve(RpcId id, ProviderId provider, Handler handler) {
    return shared_->handlers.add(id, provider, std::move(handler));
}

Errc Engine::withdraw(RpcId id, ProviderId provider) { return shared_->handlers.remove(id, provider); }

const Handler* Engine::find(RpcId id, ProviderId provider) const noexcept {
    return shared_->handlers.find(id, provider);
}

std::vector<Engine::Served> Engine::served() const { return shared_->handlers.all(); }

na::Addr Engine::self_addr() const {
    std::vector<std::string> endpoints;
    for (const auto& transport : shared_->transports) {
        for (std::string& endpoint : transport->endpoints()) endpoints.push_back(std::move(endpoint));
    }
    if (!endpoints.empty()) return na::Addr::make(std::move(endpoints), 0, 0);
    // No transport listens: returns an address that names this process but that nobody can dial.
    return na::Addr::make({}, 0, shared_->transports.front()->incarnation());
}

const std::vector<std::shared_ptr<na::Transport>>& Engine::transports() const noexcept { return shared_->transports; }

namespace {

std::size_t message_bytes(const std::vector<std::shared_ptr<na::Transport>>& transports) noexcept {
    std::size_t least = transports.front()->limits().message_bytes_max;
    for (const auto& transport : transports) least = std::min(least, transport->limits().message_bytes_max);
    return least;
}

}  // namespace

std::size_t Engine::input_bytes_eager() const noexcept {
    return message_bytes(shared_->transports) - request_header_bytes - behind_payload_max;
}
std::size_t Engine::output_bytes_eager() const noexcept {
    return message_bytes(shared_->transports) - reply_header_bytes;
}

Result<std::shared_ptr<bulk::FarLender>> Engine::far_lender() {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->far_lender) return shared_->far_lender;
    auto lender = std::make_shared<bulk::FarLender>();
    CINNABAR_TRY_VOID(serve(far_move_id, 0, far_move_handler(lender)));
    return shared_->far_lender = std::move(lender);
}

CallerTable& Engine::callers() noexcept { return shared_->callers; }

void Engine::drain() noexcept { shared_->draining.store(true); }
bool Engine::draining() const noexcept { return shared_->draining.load(std::memory_order_relaxed); }

}  // namespace cinnabar::rpc
