// SPDX-License-Identifier: BSD-3-Clause
// The inside of a node: the engine, its loops, pools, counters and tasks. Any thread, but open and close.
#pragma once

#include "loop.hpp"
#include "pool_core.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/scope.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/hl/stop.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::hl {

// The stop scope of one running handler. In a pool of its node, because a cancel may come while the handler ends.
struct RequestScope : PoolSlot {
    std::mutex mutex;
    rpc::Request* request = nullptr;  // null: not in use
    StopScope stop;
};

// What the addresses of a node are: its own, what to call over, or places of which some may not exist here.
enum class Purpose : std::uint8_t { listen, open, connect };

class NodeCore {
  public:
    [[nodiscard]] static Result<NodeCore*> open(std::span<const std::string_view> uris, NodeOptions options,
                                                Purpose purpose);
    // Stops and awaits what runs, closes, and frees the node.
    void close() noexcept;

    [[nodiscard]] rpc::Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] Buffers& buffers() noexcept { return buffers_; }
    [[nodiscard]] ScopeCore& scope() noexcept { return *scope_; }
    [[nodiscard]] const std::vector<Loop*>& loops() const noexcept { return loops_; }
    // `wanted`, or the one that runs in this thread, or the first.
    [[nodiscard]] Loop& pick_loop(std::optional<unsigned> wanted) const noexcept;
    // Of the network, where that is simulated: then nothing here has a thread.
    [[nodiscard]] TimeSource* simulated_clock() const noexcept;
    [[nodiscard]] Loop& loop_of(const rpc::Context& context) const noexcept;

    // Tasks and handlers that run beyond their first call. enter: false once the node is going.
    [[nodiscard]] bool enter() noexcept;
    void leave() noexcept;
    [[nodiscard]] bool going() const noexcept { return (tasks_.load(std::memory_order_relaxed) & going_bit) != 0; }

    [[nodiscard]] RequestScope* take_scope(rpc::Request& request) noexcept;
    void give_scope(RequestScope& scope) noexcept;

    // Null when the table is full: then nothing is counted.
    [[nodiscard]] RpcStats* stats_of(const RpcName& rpc) noexcept;
    [[nodiscard]] std::vector<RpcCounts> stats();

    [[nodiscard]] Result<Pool> make_pool(PoolOptions options);

    // Microseconds::max(): until stop_running().
    [[nodiscard]] Errc run_for(Microseconds span, bool stoppable) noexcept;
    void stop_running() noexcept;
    [[nodiscard]] Errc drain(Microseconds span) noexcept;

  private:
    explicit NodeCore(NodeOptions options);
    ~NodeCore();
    [[nodiscard]] Result<void> open_transports(std::span<const std::string_view> uris, Purpose purpose);
    [[nodiscard]] Result<void> open_loops();
    void stop_tasks() noexcept;
    void await_tasks(Waiter& waiter) noexcept;
    [[nodiscard]] bool idle() noexcept;

    static constexpr std::uint64_t going_bit = std::uint64_t{1} << 63;
    static constexpr std::size_t stats_max = 1024;  // a power of two
    static constexpr std::uint32_t scopes_max = 1u << 20;

    struct StatsEntry {
        std::atomic<rpc::RpcId> id{0};
        std::atomic<RpcStats*> stats{nullptr};
        std::string name;
    };

    NodeOptions options_;
    na::Registry registry_;
    std::vector<std::shared_ptr<na::Transport>> transports_;
    std::unique_ptr<rpc::Engine> engine_;
    std::vector<Loop*> loops_;
    Buffers buffers_;
    std::unique_ptr<ScopeCore> scope_;

    std::atomic<std::uint64_t> tasks_{0};
    Waiter* last_waiter_ = nullptr;  // told when the last task of a going node ends
    SlotPool<RequestScope> scopes_;

    std::mutex mutex_;
    std::vector<std::shared_ptr<PoolCore>> pools_;
    std::vector<Waiter*> runners_;
    bool stop_running_ = false;
    std::unique_ptr<std::array<StatsEntry, stats_max>> stats_;
};

}  // namespace cinnabar::hl
