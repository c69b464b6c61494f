// SPDX-License-Identifier: BSD-3-Clause
// NodeCore: the implementation of Node: transports, loops, pools, counters and tasks. Thread-safe except open and
// close.
#pragma once

#include "loop.hpp"
#include "pool_core.hpp"
#include "side_loop.hpp"
#include "stuck_watch.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/node_reports.hpp>
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

class RemoteTable;

// The stop scope of one running handler. Comes from a pool of the node and not from the handler's frame, because a
// cancel may arrive while the handler ends.
struct RequestScope : PoolSlot {
    std::mutex mutex;
    rpc::Request* request = nullptr;  // null: not in use
    StopScope stop;
};

// How a node uses the addresses given to it. listen: as its own addresses. open: as the names of the transports for
// outgoing calls. connect: as open, but transports that do not exist on this host are skipped.
enum class Purpose : std::uint8_t { listen, open, connect };

class NodeCore {
  public:
    [[nodiscard]] static Result<NodeCore*> open(std::span<const std::string_view> uris, NodeOptions options,
                                                Purpose purpose);
    // Stops all tasks and handlers, waits for them, closes the contexts and frees the node.
    void close() noexcept;

    [[nodiscard]] rpc::Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] Buffers& buffers() noexcept { return buffers_; }
    [[nodiscard]] ScopeCore& scope() noexcept { return *scope_; }
    [[nodiscard]] RemoteTable& remote_table() noexcept { return *remote_table_; }
    [[nodiscard]] const std::vector<Loop*>& loops() const noexcept { return loops_; }
    // Returns the loop for a call to `to`. If `to` is a connection, that is the loop that has the connection, since no
    // other loop can reach it. Otherwise it is the loop with index `wanted`; if `wanted` is unset, the loop that runs
    // on this thread, else the first loop.
    [[nodiscard]] Loop& pick_loop(std::optional<unsigned> wanted, const na::Addr& to) const noexcept;
    [[nodiscard]] Loop& pick_loop() const noexcept { return pick_loop({}, {}); }
    // The clock of a simulated network, whose nodes have no threads; otherwise null.
    [[nodiscard]] TimeSource* simulated_clock() const noexcept;
    [[nodiscard]] Loop& loop_of(const rpc::Context& context) const noexcept;

    // enter() and leave() count the tasks and handlers that may still run when the function that started them has
    // returned. enter: false once the node is closing.
    [[nodiscard]] bool enter() noexcept;
    void leave() noexcept;
    [[nodiscard]] bool going() const noexcept { return (tasks_.load(std::memory_order_relaxed) & going_bit) != 0; }

    [[nodiscard]] RequestScope* take_scope(rpc::Request& request) noexcept;
    void give_scope(RequestScope& scope) noexcept;

    // Null if the table is full; then nothing is counted.
    [[nodiscard]] RpcStats* stats_of(const RpcName& rpc) noexcept {
        const StatsEntry& entry = (*stats_)[rpc.id % stats_max];
        if (entry.id.load(std::memory_order_acquire) == rpc.id && rpc.id != 0) {
            return entry.stats.load(std::memory_order_acquire);
        }
        return find_stats(rpc);
    }
    [[nodiscard]] std::vector<RpcCounts> stats();
    // The name of an RPC that this node has called or served; otherwise empty. Any thread.
    [[nodiscard]] std::string_view name_of(rpc::RpcId id) const noexcept;
    void report_pools(introspection::NodeReport& report);
    [[nodiscard]] Tracer* tracer() const noexcept { return options_.tracer.get(); }
    // Whether this call records its phases; depends on how often its slot was used, which is in its id.
    [[nodiscard]] bool times(rpc::CallId call) const noexcept { return (call & timed_mask_) == timed_; }
    // Whether a call outside of any trace begins one. The multiplication by the golden ratio distributes the ids
    // evenly.
    [[nodiscard]] bool begins_trace(rpc::CallId call) const noexcept {
        return call * 0x9e3779b97f4a7c15u < traced_below_;
    }
    [[nodiscard]] TimeUs opened_us() const noexcept { return opened_us_; }
    [[nodiscard]] NodeRef ref() noexcept { return NodeRef(this); }
    [[nodiscard]] static SideLoop& side_loop_of(const NodeRef& node) noexcept { return node.core_->side_loop_; }

    [[nodiscard]] Result<Pool> make_pool(PoolOptions options);

    // Drives the node for `span`; Microseconds::max(): for ever. `stoppable`: returns early at stop_running().
    [[nodiscard]] Errc run_for(Microseconds span, bool stoppable) noexcept;
    void stop_running() noexcept;
    [[nodiscard]] Errc drain(Microseconds span) noexcept;

  private:
    friend class SideLoop;
    explicit NodeCore(NodeOptions options);
    ~NodeCore();
    [[nodiscard]] Result<void> open_transports(std::span<const std::string_view> uris, Purpose purpose);
    [[nodiscard]] Result<void> open_loops();
    [[nodiscard]] bool watches_loops() const noexcept;
    [[nodiscard]] RpcStats* find_stats(const RpcName& rpc) noexcept;
    void stop_tasks() noexcept;
    void await_tasks(Waiter& waiter) noexcept;
    void end_tasks() noexcept;  // stops them, and waits for them; may be called again
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
    const TimeUs opened_us_ = steady_clock().now_us();
    const std::uint64_t timed_mask_;
    const std::uint64_t timed_;
    const std::uint64_t traced_below_;
    na::Registry registry_;
    std::vector<std::shared_ptr<na::Transport>> transports_;
    std::unique_ptr<rpc::Engine> engine_;
    std::vector<Loop*> loops_;
    Loop* only_loop_ = nullptr;  // null: there are several
    StuckWatch stuck_watch_;
    SideLoop side_loop_;
    bool is_side_ = false;  // it is the side loop of another node
    Buffers buffers_;
    std::unique_ptr<ScopeCore> scope_;
    std::shared_ptr<RemoteTable> remote_table_;

    std::atomic<std::uint64_t> tasks_{0};
    Waiter* last_waiter_ = nullptr;  // finished when the last task of a closing node ends
    SlotPool<RequestScope> scopes_;

    std::mutex mutex_;
    std::vector<std::shared_ptr<PoolCore>> pools_;
    std::vector<Waiter*> runners_;
    bool stop_running_ = false;
    std::unique_ptr<std::array<StatsEntry, stats_max>> stats_;
};

}  // namespace cinnabar::hl
