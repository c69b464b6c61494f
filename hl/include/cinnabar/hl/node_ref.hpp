// SPDX-License-Identifier: BSD-3-Clause
// NodeRef: a non-owning reference to a Node, which serves RPCs and makes calls. Cheap to copy; valid until the Node is
// destroyed. Thread-safe.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/calls.hpp>
#include <cinnabar/hl/future.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/scope.hpp>
#include <cinnabar/hl/sleep.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/rpc/context.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::hl {

class NodeCore;

class CINNABAR_API NodeRef : public Calls {
  public:
    // Parses an address. bad_address: the text is no address; unreachable: no transport of this node reaches the
    // address. Does not resolve host names: each dial does so, on a thread of the library, within the connect timeout
    // and the call's deadline; if a name does not exist, the call that dials ends with bad_address.
    [[nodiscard]] Result<na::Addr> lookup(std::string_view uri) const;

    // --- serving (serve.hpp)
    // Serves `rpc` with the handler f until withdraw() or the end of the node. f takes the arguments, or a
    // Request<Input>, and returns the result, or a Result that holds it. f is either a plain function, which runs on
    // the loop and must be short, or a coroutine that returns a Task. Options: on(pool), on(pool, Priority::high),
    // on_arrival, provider(3). exists: the RPC is served already.
    template <typename R, typename F, typename... Option>
    Result<void> serve(const R& rpc, F f, Option... options) const;
    // Stops serving `rpc`. Requests that are running continue. not_found: it is not served.
    template <typename R>
    [[nodiscard]] Errc withdraw(const R& rpc, rpc::ProviderId provider = 0) const {
        return withdraw_id(rpc.name().id, provider);
    }
    [[nodiscard]] Result<Pool> make_pool(PoolOptions options = {}) const;

    // Sets who may call what, for requests that arrive from now on; replaces NodeOptions::rpc.policy. Null: everybody
    // may call everything.
    void set_policy(const std::shared_ptr<const rpc::Policy>& policy) const;

    // The address of this node; without endpoints if it does not listen.
    [[nodiscard]] na::Addr self_addr() const;
    // The address of this node as text, with commas between the endpoints; empty if the node does not listen. A peer on
    // this host uses shared memory if both sides have it and permissions allow; otherwise a peer uses the first
    // transport that both sides have.
    [[nodiscard]] std::string address() const;
    [[nodiscard]] std::vector<std::string> endpoints() const;
    // The scheme of the transport that calls to `addr` use; empty if none reaches it.
    [[nodiscard]] std::string_view transport_to(const na::Addr& addr) const;

    // --- memory
    // Makes a region of the user's memory, without a copy. The memory must live until the region and all calls that use
    // it are gone.
    template <typename T, std::size_t N>
    [[nodiscard]] Result<bulk::Region> expose(std::span<T, N> memory) const {
        static_assert(std::is_trivially_copyable_v<T>,
                      "cinnabar: only memory of trivially copyable objects moves in bulk");
        if constexpr (std::is_const_v<T>)
            return bulk::Region::expose(std::as_bytes(memory));
        else
            return bulk::Region::expose(std::as_writable_bytes(memory), na::Access::read_write);
    }
    // Allocates memory as a region: page-aligned, zeroed, freed with the last handle. If this node has the shm
    // transport, peers on this host map the memory and copy it with one memcpy or read it in place (Bulk::view). Each
    // allocation then holds a file descriptor, so make few large allocations. out_of_memory; invalid_argument: 0 bytes.
    [[nodiscard]] Result<bulk::Region> allocate(std::size_t bytes, na::Access access = na::Access::read_write) const;
    [[nodiscard]] Buffers& buffers() const;
    // pull and push transfer bytes outside of a request. `remote` must live until the transfer has ended. `peer`: the
    // owner of the remote memory, if the descriptor does not name the owner.
    [[nodiscard]] TransferOp pull(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                                  TransferOptions options = {}) const;
    [[nodiscard]] TransferOp push(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                                  TransferOptions options = {}) const;

    // --- tasks
    // Starts a task on this node's loop, or on a pool. When the node is destroyed, it stops the task and waits for the
    // task's end. Exceptions of the task are logged. Errors: closed (the node is being destroyed) and out_of_memory;
    // the task was not started.
    template <typename T>
    Errc spawn(Task<T> task) const {
        return detail::spawn_into(node_scope(), std::move(task), nullptr);
    }
    template <typename T>
    Errc spawn(Task<T> task, const Pool& pool) const {
        return detail::spawn_into(node_scope(), std::move(task), &pool.executor());
    }
    // The loop on which spawn() would start a task now. A node with several contexts has several.
    [[nodiscard]] Executor& executor() const noexcept { return node_scope().home(); }
    [[nodiscard]] SleepOp sleep_for(Microseconds span) const noexcept { return SleepOp(*core_, span); }

    // --- driving, from plain code
    // Drives the node for `span` or until stop_running() is called; only blocks if the node has threads of its own.
    // would_deadlock: called on a loop or pool thread.
    Errc run_for(Microseconds span) const;
    // As run_for, without a time limit.
    Errc run() const;
    // Ends run() and run_for() on all threads; if neither is running, the next run() or run_for() returns at once. Any
    // thread and any RPC handler may call stop_running(), but not a signal handler: block the signal and wait for the
    // signal in a thread.
    void stop_running() const noexcept;
    // Makes progress and runs callbacks once, without waiting. For programs with their own event loop. Any thread, also
    // in a callback, which then drives the loop that runs the callback. Does nothing for a loop that another thread
    // drives (of a node with its own threads, or in run(), wait() or poll() at this moment), and in callbacks that run
    // while the node closes. Requires: the node lives until poll() returns.
    void poll() const noexcept;

    // Stops the service, and waits until running calls and requests have ended. From now on, the node answers new
    // requests with shutting_down and fails new calls with closed. timed_out: some calls or requests still run after
    // `span`.
    [[nodiscard]] Errc drain(Microseconds span) const;

    [[nodiscard]] std::vector<RpcCounts> stats() const;
    // Returns where the time of calls to this address went, as histograms over the calls that were timed
    // (NodeOptions::timed_one_in). Empty if no call was timed since the connection was made.
    [[nodiscard]] std::optional<rpc::PeerTimes> peer_times(const na::Addr& to) const;
    // Returns a context of the rpc layer, for its counters, events of peers, and notices. Requires: `index` <
    // NodeOptions::contexts. Never call its trigger(), which would run callbacks at the same time as the node does;
    // poll() runs them.
    [[nodiscard]] rpc::Context& rpc_context(unsigned index = 0) const noexcept;

  protected:
    friend class Caller;
    friend class NodeCore;
    friend class RemoteTable;
    friend class RequestState;
    friend class Scope;
    explicit NodeRef(NodeCore* core) noexcept : Calls(core) {}
    Errc withdraw_id(rpc::RpcId id, rpc::ProviderId provider) const;
    [[nodiscard]] ScopeCore& node_scope() const noexcept;
};

}  // namespace cinnabar::hl
