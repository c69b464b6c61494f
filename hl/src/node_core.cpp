// SPDX-License-Identifier: BSD-3-Clause
// Opens the transports and loops of a node, picks a loop for a call, counts tasks and scopes, and closes all in order.
#include "node_core.hpp"

#include "introspection.hpp"
#include "remote_table.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/hl/waiter.hpp>
#include <cinnabar/na/side_context.hpp>
#include <cinnabar/na/uri.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <sched.h>

#include <algorithm>
#include <bit>

namespace cinnabar::hl {
namespace {

constexpr Microseconds task_patience{5'000'000};  // how long a closing node waits before it logs what it waits for
constexpr Microseconds drain_step{2'000};         // between two checks of what still runs

// Whether every peer that reaches this host can call a node that listens on `uri`.
bool is_open_to_all(na::Transport& transport, std::string_view uri) {
    if (transport.caps().same_host_only || transport.clock()) return false;  // a simulated network
    if (transport.caps().proves_peers) return false;
    const auto parsed = na::Uri::parse(uri);
    return parsed && (parsed->host.empty() || parsed->host == "0.0.0.0" || parsed->host == "::");
}

// The threshold below which one in one_in() 64-bit numbers lies.
std::uint64_t traced_below(const Tracer* tracer) noexcept {
    const std::uint32_t one_in = tracer ? tracer->one_in() : 0;
    return one_in == 0 ? 0 : ~std::uint64_t{0} / one_in;
}

}  // namespace

NodeCore::NodeCore(NodeOptions options)
    : options_(std::move(options)),
      timed_mask_((std::bit_ceil(std::uint64_t{std::max(options_.timed_one_in, 1u)}) - 1) << rpc::call_slot_bits),
      timed_(options_.timed_one_in == 1 ? 0 : std::uint64_t{1} << rpc::call_slot_bits),
      traced_below_(traced_below(options_.tracer.get())),
      side_loop_(*this),
      buffers_(options_.buffer_bytes_max),
      scope_(std::make_unique<ScopeCore>(*this, nullptr)),
      remote_table_(std::make_shared<RemoteTable>(*this)),
      scopes_(ThreadUse::many, scopes_max),
      stats_(std::make_unique<std::array<StatsEntry, stats_max>>()) {}

NodeCore::~NodeCore() {
    for (StatsEntry& entry : *stats_) delete entry.stats.load();
}

Result<NodeCore*> NodeCore::open(std::span<const std::string_view> uris, NodeOptions options, Purpose purpose) {
    struct Closer {
        void operator()(NodeCore* core) const noexcept { core->close(); }
    };
    std::unique_ptr<NodeCore, Closer> core(new NodeCore(std::move(options)));
    add_builtin(core->registry_);
    if (core->options_.tracer) detail::traces_seen.store(true, std::memory_order_relaxed);
    if (core->options_.plugins) CINNABAR_TRY_VOID(core->options_.plugins(core->registry_));
    CINNABAR_TRY_VOID(core->open_transports(uris, purpose));
    CINNABAR_TRY(core->engine_, rpc::Engine::open(core->transports_));
    CINNABAR_TRY_VOID(core->open_loops());
    CINNABAR_TRY_VOID(serve_introspection(*core, core->options_.introspection));
    if (core->watches_loops()) CINNABAR_TRY_VOID(core->stuck_watch_.start(core->loops_));
    return core.release();
}

Result<void> NodeCore::open_transports(std::span<const std::string_view> uris, Purpose purpose) {
    na::TransportOptions options = options_.transport;
    options.listen = purpose == Purpose::listen;
    options.contexts_max = std::max(options.contexts_max, options_.contexts + 1);  // 1: a side loop
    // By default, connections are distributed over several contexts only if their loops have progress threads. Without
    // such threads, the node may be driven by a thread that waits for a single loop.
    options.spread = options.spread || (options_.contexts > 1 && options_.progress_thread);
    bool needs_self = true;
    bool warned = options_.strangers_may_call || options_.rpc.policy || purpose != Purpose::listen;
    for (const std::string_view& uri : uris) {  // by reference: the last one is recognised by its address
        auto made = registry_.open(uri, options);
        if (!made && (purpose != Purpose::connect || (&uri == &uris.back() && transports_.empty()))) {
            return std::move(made).error();
        }
        if (!made) continue;
        std::unique_ptr<na::Transport> opened = *std::move(made);
        // A simulated clock and the real one cannot share a context.
        if (opened->scheme() == "self" || opened->clock()) needs_self = false;
        if (!warned && is_open_to_all(*opened, uri)) {
            warned = true;
            log(LogLevel::warning, "hl", {transport_field(opened->scheme())},
                "%s listens on all interfaces, and every host that reaches it may call every RPC: listen on one "
                "address, give NodeOptions::rpc.policy, or set NodeOptions::strangers_may_call",
                std::string(uri).c_str());
        }
        transports_.push_back(std::move(opened));
    }
    if (transports_.empty())
        return Error(Errc::invalid_argument, "a node needs the address of a transport, such as tcp://");
    if (needs_self) {
        options.listen = true;
        CINNABAR_TRY(std::unique_ptr<na::Transport> opened, registry_.open("self://?alone=yes", options));
        transports_.push_back(std::move(opened));
    }
    return {};
}

Result<void> NodeCore::open_loops() {
    if (options_.contexts == 0 || options_.contexts > na::any_context) {
        return Error(Errc::invalid_argument, "NodeOptions::contexts must be from 1 to 65535");
    }
    const bool threaded = options_.progress_thread && !simulated_clock();
    for (unsigned i = 0; i < options_.contexts; ++i) {
        rpc::Options options = options_.rpc;
        options.context.threads = ThreadUse::many;
        options.context.id = is_side_ ? na::side_context : static_cast<na::ContextId>(i);
        CINNABAR_TRY(std::unique_ptr<rpc::Context> opened, engine_->open_context(options));
        loops_.push_back(new Loop(*this, std::move(opened), i == 0, threaded, simulated_clock()));
    }
    if (loops_.size() == 1) only_loop_ = loops_.front();
    for (Loop* loop : loops_) CINNABAR_TRY_VOID(loop->start_thread());
    return {};
}

bool NodeCore::watches_loops() const noexcept {
    return options_.introspection != Introspection::off && options_.progress_thread && !simulated_clock();
}

TimeSource* NodeCore::simulated_clock() const noexcept {
    for (const auto& transport : transports_) {
        if (TimeSource* clock = transport->clock()) return clock;
    }
    return nullptr;
}

Loop& NodeCore::pick_loop(std::optional<unsigned> wanted, const na::Addr& to) const noexcept {
    if (only_loop_) return *only_loop_;
    if (to.is_connection()) return *loops_[to.body().held_by % loops_.size()];
    if (wanted) return *loops_[*wanted % loops_.size()];
    const Executor* const current = Executor::current();
    for (Loop* loop : loops_) {
        if (loop == current) return *loop;
    }
    return *loops_.front();
}

Loop& NodeCore::loop_of(const rpc::Context& context) const noexcept {
    return only_loop_ ? *only_loop_ : *loops_[context.options().context.id];
}

bool NodeCore::enter() noexcept {
    std::uint64_t before = tasks_.load(std::memory_order_relaxed);
    do {
        if ((before & going_bit) != 0) return false;
    } while (!tasks_.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel));
    return true;
}

void NodeCore::leave() noexcept {
    // Only the last task of a closing node sees this count. No task can enter any more, so no other task has finished
    // last_waiter_, which is still waiting.
    if (tasks_.fetch_sub(1, std::memory_order_acq_rel) == (going_bit | 1)) last_waiter_->finish();
}

RequestScope* NodeCore::take_scope(rpc::Request& request) noexcept {
    RequestScope* scope = scopes_.acquire();
    if (!scope) return nullptr;
    const std::lock_guard lock(scope->mutex);
    scope->request = &request;
    return scope;
}

void NodeCore::give_scope(RequestScope& scope) noexcept {
    {
        const std::lock_guard lock(scope.mutex);
        scope.request = nullptr;
        scope.stop.reset();
    }
    scopes_.release(scope);
}

RpcStats* NodeCore::find_stats(const RpcName& rpc) noexcept {
    const rpc::RpcId id = rpc.id != 0 ? rpc.id : 1;
    for (std::size_t i = 0, at = id; i < stats_max; ++i, ++at) {
        StatsEntry& entry = (*stats_)[at % stats_max];
        const rpc::RpcId there = entry.id.load(std::memory_order_acquire);
        if (there == id) return entry.stats.load(std::memory_order_acquire);
        if (there != 0) continue;
        const std::lock_guard lock(mutex_);
        if (entry.id.load(std::memory_order_relaxed) == id) return entry.stats.load(std::memory_order_relaxed);
        if (entry.id.load(std::memory_order_relaxed) != 0) continue;
        auto* made = new (std::nothrow) RpcStats;
        if (!made) return nullptr;
        entry.name = rpc.text;
        entry.stats.store(made, std::memory_order_release);
        entry.id.store(id, std::memory_order_release);
        return made;
    }
    return nullptr;
}

std::string_view NodeCore::name_of(rpc::RpcId id) const noexcept {
    for (std::size_t i = 0, at = id; i < stats_max; ++i, ++at) {
        const StatsEntry& entry = (*stats_)[at % stats_max];
        // acquire: the name was written before the id
        const rpc::RpcId there = entry.id.load(std::memory_order_acquire);
        if (there == id) return entry.name;
        if (there == 0) break;
    }
    return {};
}

void NodeCore::report_pools(introspection::NodeReport& report) {
    const std::lock_guard lock(mutex_);
    for (const auto& pool : pools_) {
        const PoolOptions& options = pool->options();
        const PoolCore::Load load = pool->load();
        const std::uint32_t queued = load.queued[0] + load.queued[1] + load.queued[2];
        report.pools.push_back({options.name, options.threads, queued, options.queue_max});
        report.pool_loads.push_back({load.running, load.resumed, load.queued});
    }
}

std::vector<RpcCounts> NodeCore::stats() {
    const std::lock_guard lock(mutex_);
    std::vector<RpcCounts> all;
    for (const StatsEntry& entry : *stats_) {
        const RpcStats* stats = entry.stats.load(std::memory_order_acquire);
        if (!stats) continue;
        RpcCounts counts;
        counts.name = entry.name;
        stats->read(counts);
        all.push_back(std::move(counts));
    }
    std::sort(all.begin(), all.end(), [](const RpcCounts& a, const RpcCounts& b) { return a.name < b.name; });
    return all;
}

Errc NodeCore::run_for(Microseconds span, bool stoppable) noexcept {
    if (!Waiter::may_block()) return Errc::would_deadlock;
    Waiter waiter;
    for (Loop* loop : loops_) waiter.relies_on(*loop);
    if (stoppable) {
        const std::lock_guard lock(mutex_);
        if (std::exchange(stop_running_, false)) return Errc::ok;
        runners_.push_back(&waiter);
    }
    (void)waiter.wait_for(span);
    const std::lock_guard lock(mutex_);
    std::erase(runners_, &waiter);
    return Errc::ok;
}

void NodeCore::stop_running() noexcept {
    const std::lock_guard lock(mutex_);
    // If no thread is in run(), the next run() returns at once.
    stop_running_ = runners_.empty();
    for (Waiter* runner : runners_) runner->finish();
    runners_.clear();
}

bool NodeCore::idle() noexcept {
    for (Loop* loop : loops_) {
        const rpc::Context::Counts counts = loop->context()->counts();
        if (counts.calls != 0 || counts.requests != 0) return false;
    }
    return true;
}

Errc NodeCore::drain(Microseconds span) noexcept {
    if (!Waiter::may_block()) return Errc::would_deadlock;
    engine_->drain();
    side_loop_.drain();
    TimeSource& clock = simulated_clock() ? *simulated_clock() : steady_clock();
    const TimeUs until = after(clock.now_us(), span);
    while (!idle()) {
        const TimeUs now = clock.now_us();
        if (now >= until) return Errc::timed_out;
        (void)run_for(std::min(drain_step, Microseconds{static_cast<std::int64_t>(until - now)}), false);
    }
    return Errc::ok;
}

void NodeCore::stop_tasks() noexcept {
    scope_->stop().stop();
    scopes_.for_each([](RequestScope& scope) {
        const std::lock_guard lock(scope.mutex);
        if (scope.request) scope.stop.stop();
    });
}

void NodeCore::end_tasks() noexcept {
    if (engine_) engine_->drain();
    Waiter waiter;
    last_waiter_ = &waiter;
    const bool tasks_run = (tasks_.fetch_or(going_bit, std::memory_order_acq_rel) & ~going_bit) != 0;
    stop_tasks();
    if (tasks_run) await_tasks(waiter);
    last_waiter_ = nullptr;
}

void NodeCore::await_tasks(Waiter& waiter) noexcept {
    for (Loop* loop : loops_) waiter.relies_on(*loop);
    while (!waiter.wait_for(task_patience)) {
        const std::uint64_t left = tasks_.load() & ~going_bit;
        log(LogLevel::warning, "hl",
            "a node cannot close yet: %llu of its tasks and handlers still run although they were stopped",
            static_cast<unsigned long long>(left));
    }
}

void NodeCore::close() noexcept {
    CINNABAR_ASSERT(Waiter::may_block());
    end_tasks();
    side_loop_.end_tasks();  // while the loops run, whose operations its tasks may await
    for (const auto& pool : pools_) pool->stop();
    stuck_watch_.stop();
    for (Loop* loop : loops_) loop->stop_driving();
    side_loop_.close();  // no handler of a loop calls through it any more; its own may use the contexts
    for (Loop* loop : loops_) {
        // Other threads may still read results in the context's memory.
        while (loop->results_held.load(std::memory_order_acquire) != 0) ::sched_yield();
        loop->close();
    }
    scope_.reset();
    for (Loop* loop : loops_) loop->release();
    engine_.reset();
    delete this;
}

Result<Pool> NodeCore::make_pool(PoolOptions options) {
    Executor* const instead = simulated_clock() ? loops_.front() : nullptr;
    auto made = std::make_shared<PoolCore>(std::move(options), instead, options_.progress_thread);
    CINNABAR_TRY_VOID(made->start());
    const std::lock_guard lock(mutex_);
    pools_.push_back(made);
    Pool pool;
    pool.core_ = std::move(made);
    return pool;
}

}  // namespace cinnabar::hl
