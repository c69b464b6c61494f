// SPDX-License-Identifier: BSD-3-Clause
// RemoteTable: the memory that a node shares. Each shared memory has a slot. All decisions about a token are made under
// the lock of the memory's slot, so renewing and withdrawing need only that lock. Thread-safe.
#pragma once

#include "direct_lease.hpp"
#include "remote_contracts.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/siphash.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/share.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace cinnabar::hl {

class NodeCore;

using NoticeFunction = std::function<void(const RemoteNotice&)>;

struct SharedSlot;

// The use of a shared memory by a bulk operation or a notice in progress. Must not move meanwhile.
struct SharedUse {
    SharedUse(SharedSlot& of, std::stop_source source) noexcept : slot(&of), stop(std::move(source)) {}
    SharedSlot* slot;
    std::stop_source stop;
    bool is_stopped = false;  // in SharedSlot::stopped
    ListLink<SharedUse> link;
};

// A thread that waits for the last use to end.
struct IdleWait {
    Waiter waiter;
    ListLink<IdleWait> link;
};

struct SharedSlot : PoolSlot {
    enum class State : std::uint8_t {
        unused,
        shared,
        withdrawn,  // kept while it is used or in quarantine
        dropped,    // withdrawn, and nobody will ask for the outcome: kept while it is used
    };
    std::mutex mutex;
    State state = State::unused;
    bulk::Region memory;
    std::uint32_t lease = 0;  // how often the slot was used
    std::uint64_t version = 1;
    SipKey key{};
    IntrusiveList<SharedUse, &SharedUse::link> under_way;
    IntrusiveList<SharedUse, &SharedUse::link> stopped;  // in progress, but asked to stop
    IntrusiveList<IdleWait, &IdleWait::link> waiting;
    std::shared_ptr<const NoticeFunction> notified;
    std::unique_ptr<DirectLease> direct;  // null: processes of this host do not access it by themselves
    bool direct_ends = false;             // a thread ends `direct`, which is null meanwhile

    [[nodiscard]] bool idle() const noexcept { return under_way.empty() && stopped.empty(); }
};

class RemoteTable : public std::enable_shared_from_this<RemoteTable> {
  public:
    static constexpr std::uint32_t shares_max = 65'536;

    explicit RemoteTable(NodeCore& node);
    [[nodiscard]] static RemoteTable& of(const NodeRef& node) noexcept;
    // The id of this node in its grants.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    // The address at which this node calls itself for its own memory.
    [[nodiscard]] na::Addr own_address();
    // The index of the context that calls to this address use, if this thread makes them (remote_direct.cpp).
    [[nodiscard]] unsigned context_for(const na::Addr& to) const noexcept;
    // Declares that this executor waits for operations that this node has begun.
    void is_awaited_by(Executor& executor) noexcept;
    // The number of memories that are shared, or were withdrawn and are still in use; a snapshot.
    [[nodiscard]] std::uint32_t shares() const noexcept { return slots_.taken(); }

    // --- sharing
    [[nodiscard]] Result<SharedBytes> share(const bulk::Region& memory, na::Access access);
    [[nodiscard]] RemoteBytes token(SharedSlot& slot, const RemoteGrant& wanted);
    void renew(SharedSlot& slot, std::uint32_t lease) noexcept;
    // Stops operations in progress. ok: nobody accesses the memory any more. again: some operations are still in
    // progress. busy: the memory is in quarantine, or a process is stopped in a direct access.
    [[nodiscard]] Errc withdraw(SharedSlot& slot, std::uint32_t lease) noexcept;
    // Like withdraw(), but nobody will ask for the outcome.
    void drop(SharedSlot& slot, std::uint32_t lease) noexcept;
    void await_idle(SharedSlot& slot, std::uint32_t lease) noexcept;
    [[nodiscard]] bool in_use(SharedSlot& slot, std::uint32_t lease) noexcept;
    void on_notified(SharedSlot& slot, std::uint32_t lease, std::shared_ptr<const NoticeFunction> function);
    // remote_direct.cpp: as SharedBytes::allow_direct.
    [[nodiscard]] Result<void> allow_direct(SharedSlot& slot, std::uint32_t lease, na::Access access);

    // --- operations. Errors: stale, permission; unsupported: far memory, which only transfers move.

    // Read and write copy in steps, and check the grant before each step.
    [[nodiscard]] Errc read(const RemoteGrant& grant, std::uint64_t offset, Bytes to) noexcept;
    [[nodiscard]] Errc write(const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) noexcept;
    // The same with the next bytes of a list of blocks, which must lie inside the grant.
    [[nodiscard]] Errc read(const RemoteGrant& grant, bulk::BlockWalk& from, Bytes to) noexcept;
    [[nodiscard]] Errc write(const RemoteGrant& grant, bulk::BlockWalk& to, ConstBytes from) noexcept;
    // invalid_argument: not aligned, or split over two segments.
    [[nodiscard]] Errc word(const remote_calls::Word& call, std::uint64_t& before) noexcept;
    // What a process needs to access these bytes of a grant by itself (remote_direct.hpp). unsupported: it must not.
    [[nodiscard]] Errc map(const remote_calls::Look& call, RemoteReply& out);
    // Does nothing if the grant has become stale.
    void notify(const RemoteGrant& grant, RemoteNotice notice);

  private:
    friend class RemoteTransfer;
    struct Notifying;
    // The lock of a slot is held for one step, which is at most this large.
    static constexpr std::size_t step_bytes = 64 * 1024;
    static constexpr std::uint32_t step_pieces = 1024;

    // Null: the grant is of another node, or the slot was never used.
    [[nodiscard]] SharedSlot* find(const RemoteGrant& grant) const noexcept;
    // These require the slot's lock.
    [[nodiscard]] static Errc check(const SharedSlot& slot, const RemoteGrant& grant) noexcept;
    [[nodiscard]] static Errc check(const SharedSlot& slot, const RemoteGrant& grant, std::uint64_t offset,
                                    std::uint64_t bytes, na::Access access) noexcept;
    // Frees the slot of a withdrawn memory, unless somebody may still access the memory. Moves the memory to `freed`,
    // so that the caller can free the memory without the lock. Returns the same as withdraw().
    [[nodiscard]] Errc settle(SharedSlot& slot, bulk::Region& freed) noexcept;

    [[nodiscard]] Errc withdraw(SharedSlot& slot, std::uint32_t lease, SharedSlot::State state) noexcept;
    // Ends the direct access of other processes. busy: the access has not ended yet. Requires the slot's lock, and
    // releases the lock meanwhile.
    [[nodiscard]] static Errc end_direct(SharedSlot& slot, std::unique_lock<std::mutex>& lock) noexcept;
    template <typename Span, typename Copy>
    [[nodiscard]] Errc copy_in_steps(const RemoteGrant& grant, std::uint64_t offset, Span bytes, na::Access access,
                                     Copy copy) noexcept;
    template <typename Span, typename Copy>
    [[nodiscard]] Errc copy_in_steps(const RemoteGrant& grant, bulk::BlockWalk& blocks, Span bytes, na::Access access,
                                     Copy copy) noexcept;
    // Checks the grant, sets `memory` to the granted memory, and adds `use` to the slot's list of operations. `use`:
    // null if the list has the operation already. Takes the slot's lock.
    [[nodiscard]] Errc begin(const RemoteGrant& grant, SharedSlot& slot, SharedUse* use, bulk::Region& memory);
    [[nodiscard]] Errc check_again(const RemoteGrant& grant) noexcept;
    void end(SharedUse& use) noexcept;
    [[nodiscard]] Result<void> serve();

    NodeCore& node_;
    const std::uint64_t id_;
    SlotPool<SharedSlot> slots_;
    std::mutex mutex_;      // guards the members below
    unsigned served_ = 0;   // handlers that are registered
    bool serving_ = false;  // all of them are
    na::Addr own_;          // empty until something is shared
    na::Addr listens_;      // the address for others; empty if this node does not listen
};

// Registers the handlers in their order (remote_serve.cpp), except for the first `served`, and adds the number of
// registered handlers to `served`. After a failure, serve_remote() can be called again with the same `served`.
[[nodiscard]] Result<void> serve_remote(const NodeRef& node, const std::shared_ptr<RemoteTable>& table,
                                        unsigned& served);
// The handlers of operations on lists of blocks (remote_serve_blocks.cpp).
[[nodiscard]] Task<Result<RemoteReply>> do_gather_blocks(std::shared_ptr<RemoteTable> table,
                                                         Request<remote_calls::GatherBlocks> request);
[[nodiscard]] Task<Result<RemoteReply>> do_scatter_blocks(std::shared_ptr<RemoteTable> table,
                                                          Request<remote_calls::ScatterBlocks> request);
// The handlers of operations that are checked (remote_serve_checked.cpp).
[[nodiscard]] Task<Result<RemoteReply>> do_checked_gather(std::shared_ptr<RemoteTable> table,
                                                          Request<remote_calls::CheckedGather> request);
[[nodiscard]] Task<Result<RemoteReply>> do_checked_scatter(std::shared_ptr<RemoteTable> table,
                                                           Request<remote_calls::CheckedScatter> request);
[[nodiscard]] Task<Result<RemoteReply>> do_checked_gather_blocks(std::shared_ptr<RemoteTable> table,
                                                                 Request<remote_calls::CheckedGatherBlocks> request);
[[nodiscard]] Task<Result<RemoteReply>> do_checked_scatter_blocks(std::shared_ptr<RemoteTable> table,
                                                                  Request<remote_calls::CheckedScatterBlocks> request);

// A bulk operation in progress: keeps the memory, and marks it as in use until the operation ends.
class RemoteTransfer {
  public:
    explicit RemoteTransfer(std::shared_ptr<RemoteTable> table) noexcept : table_(std::move(table)) {}
    ~RemoteTransfer();
    RemoteTransfer(const RemoteTransfer&) = delete;
    RemoteTransfer& operator=(const RemoteTransfer&) = delete;

    // Call once. Returns the pieces as one region. invalid_argument: no pieces, or no such grant; too_large: too many.
    [[nodiscard]] Result<bulk::Region> begin(const std::vector<RemoteGrant>& grants,
                                             const std::vector<remote_calls::Piece>& pieces, na::Access access);
    // Call once, instead of the above: the window of one grant. permission: a block lies outside of the grant.
    [[nodiscard]] Result<bulk::Region> begin(const RemoteGrant& grant, const bulk::Blocks& blocks, na::Access access);
    // Whether all grants are still valid.
    [[nodiscard]] Errc check() const noexcept;
    // Whether one of the grants names a version of the contents.
    [[nodiscard]] bool names_version() const noexcept;
    // Stopped when the memory is withdrawn.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  private:
    [[nodiscard]] Errc begin(const RemoteGrant& grant, na::Access access);
    [[nodiscard]] Result<bulk::Region> region_of(const std::vector<remote_calls::Piece>& pieces, na::Access access);

    std::shared_ptr<RemoteTable> table_;
    std::stop_source stop_;
    std::vector<RemoteGrant> grants_;   // grants that this transfer has begun
    std::vector<bulk::Region> memory_;  // of each grant
    std::vector<SharedUse> uses_;       // one for each shared memory, however many grants name it; each must be ended
};

}  // namespace cinnabar::hl
