// SPDX-License-Identifier: BSD-3-Clause
// NodeRef: a node without owning it. It serves RPCs and makes calls; cheap to copy, valid until the node goes. Any
// thread uses it.
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

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::hl {

class NodeCore;

class CINNABAR_API NodeRef : public Calls {
  public:
    // A peer by its address string. bad_address; unreachable: no transport of this node reaches it. Only looks at the
    // text: a host's name is looked up by each dial, on a thread of the library, within the connect timeout and the
    // call's deadline; of one that means nobody the call that dials says bad_address.
    [[nodiscard]] Result<na::Addr> lookup(std::string_view uri) const;

    // --- serving (serve.hpp)
    // Serves `rpc` with f until withdraw or the end of the node. f takes the arguments, or a Request<Input>; it is a
    // plain function, which runs on the loop and must be short, or a coroutine that returns a Task. It returns the
    // result or a Result of it. Options: on(pool), on(pool, Priority::high), provider(3). exists: served already.
    template <typename R, typename F, typename... Option>
    Result<void> serve(const R& rpc, F f, Option... options) const;
    // not_found. Requests that are running go on.
    template <typename R>
    [[nodiscard]] Errc withdraw(const R& rpc, rpc::ProviderId provider = 0) const {
        return withdraw_id(rpc.name().id, provider);
    }
    [[nodiscard]] Result<Pool> make_pool(PoolOptions options = {}) const;

    // Where others reach this node; empty endpoints when it does not listen.
    [[nodiscard]] na::Addr self_addr() const;
    // The same as text, its endpoints between commas; empty when it does not listen. Whoever looks it up takes shared
    // memory on this host, if both sides have it and may, and else the first transport that both sides have.
    [[nodiscard]] std::string address() const;
    [[nodiscard]] std::vector<std::string> endpoints() const;
    // The scheme of the transport that calls to `addr` take; empty when none reaches it.
    [[nodiscard]] std::string_view transport_to(const na::Addr& addr) const;

    // --- memory
    // Lends the caller's memory to calls; it must stay until the region and all calls with it are gone.
    template <typename T, std::size_t N>
    [[nodiscard]] Result<bulk::Region> expose(std::span<T, N> memory) const {
        static_assert(std::is_trivially_copyable_v<T>,
                      "cinnabar: only memory of trivially copyable objects moves in bulk");
        if constexpr (std::is_const_v<T>)
            return bulk::Region::expose(std::as_bytes(memory));
        else
            return bulk::Region::expose(std::as_writable_bytes(memory), na::Access::read_write);
    }
    // Memory to lend, page-aligned and zeroed, freed with the last handle. Where this node has shared memory, peers on
    // this host map it: they move its bytes with one memcpy, or read them in place (Bulk::view). Each piece is a file
    // descriptor then, so allocate few and large ones. out_of_memory; invalid_argument: no bytes.
    [[nodiscard]] Result<bulk::Region> allocate(std::size_t bytes, na::Access access = na::Access::read_write) const;
    [[nodiscard]] Buffers& buffers() const;
    // Transfers apart from a call, against a descriptor that the caller keeps; `peer` when it is not bound.
    [[nodiscard]] TransferOp pull(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                                  TransferOptions options = {}) const;
    [[nodiscard]] TransferOp push(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                                  TransferOptions options = {}) const;

    // --- tasks
    // Starts a task on this node's loop (or a pool); the node stops it and waits for it when it goes. What it throws is
    // logged. closed: the node is going; the task was destroyed unstarted. Any thread.
    template <typename T>
    Errc spawn(Task<T> task) const {
        return detail::spawn_into(node_scope(), std::move(task), nullptr);
    }
    template <typename T>
    Errc spawn(Task<T> task, const Pool& pool) const {
        return detail::spawn_into(node_scope(), std::move(task), &pool.executor());
    }
    [[nodiscard]] SleepOp sleep_for(Microseconds span) const noexcept { return SleepOp(*core_, span); }

    // --- driving, from plain code
    // Drives for that long (or lets the node's own threads do it). would_deadlock on a loop or pool thread.
    Errc run_for(Microseconds span) const;
    // Until stop_running() is called; any thread may do that, and the handler of a call, but no signal handler: block
    // the signal and wait for it in a thread.
    Errc run() const;
    void stop_running() const noexcept;
    // One look without waiting: progress, then callbacks. For programs with a loop of their own.
    void poll() const noexcept;

    // New requests are answered shutting_down, new calls fail with closed; waits until what runs has ended. timed_out:
    // something still runs.
    [[nodiscard]] Errc drain(Microseconds span) const;

    [[nodiscard]] std::vector<RpcCounts> stats() const;
    // The layer below, for counts, peers that come and go, and notices. Requires: `index` < NodeOptions::contexts.
    [[nodiscard]] rpc::Context& rpc_context(unsigned index = 0) const noexcept;

  protected:
    friend class NodeCore;
    friend class RequestState;
    friend class Scope;
    explicit NodeRef(NodeCore* core) noexcept : Calls(core) {}
    Errc withdraw_id(rpc::RpcId id, rpc::ProviderId provider) const;
    [[nodiscard]] ScopeCore& node_scope() const noexcept;
};

}  // namespace cinnabar::hl
