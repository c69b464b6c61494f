// SPDX-License-Identifier: BSD-3-Clause
// RemoteTable: the memory that a node shares. Each shared memory has a slot. All decisions about a token are made under
// the lock of its slot, so renewing and withdrawing only need that lock. Thread-safe.
#pragma once

#include "remote_contracts.hpp"

#include <cinnabar/base/siphash.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/share.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace cinnabar::hl {

class NodeCore;
class Waiter;

using NoticeFunction = std::function<void(const RemoteNotice&)>;

struct SharedSlot : PoolSlot {
    std::mutex mutex;
    bulk::Region memory;      // empty: withdrawn
    std::uint32_t lease = 0;  // how often the slot was used
    std::uint64_t version = 1;
    SipKey key{};
    std::vector<std::stop_source> under_way;  // of bulk operations and notices in progress
    std::vector<Waiter*> waiting;             // for the last of them to end
    std::shared_ptr<const NoticeFunction> notified;
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

    // --- sharing
    [[nodiscard]] Result<SharedBytes> share(const bulk::Region& memory, na::Access access);
    [[nodiscard]] RemoteBytes token(SharedSlot& slot, const RemoteGrant& wanted);
    void renew(SharedSlot& slot, std::uint32_t lease) noexcept;
    // Stops operations in progress; returns true if there are none.
    bool withdraw(SharedSlot& slot, std::uint32_t lease) noexcept;
    void await_idle(SharedSlot& slot, std::uint32_t lease) noexcept;
    [[nodiscard]] bool in_use(SharedSlot& slot, std::uint32_t lease) noexcept;
    void on_notified(SharedSlot& slot, std::uint32_t lease, std::shared_ptr<const NoticeFunction> function);

    // --- operations. Errors: stale, permission.
    [[nodiscard]] Errc read(const RemoteGrant& grant, std::uint64_t offset, Bytes to) noexcept;
    // Writes in steps of write_step_bytes, and checks the grant before each.
    [[nodiscard]] Errc write(const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) noexcept;
    // Writes to the next bytes of a list of blocks, which must lie inside the grant.
    [[nodiscard]] Errc write(const RemoteGrant& grant, bulk::BlockWalk& to, ConstBytes from) noexcept;
    // invalid_argument: not aligned, or split over two segments.
    [[nodiscard]] Errc word(const remote_calls::Word& call, std::uint64_t& before) noexcept;
    // Does nothing if the grant has become stale.
    void notify(const RemoteGrant& grant, RemoteNotice notice);

  private:
    friend class RemoteTransfer;
    struct Notifying;
    static constexpr std::size_t write_step_bytes = 64 * 1024;

    // Null: the grant is of another node, or the slot was never used.
    [[nodiscard]] SharedSlot* find(const RemoteGrant& grant) const noexcept;
    // These require the slot's lock.
    [[nodiscard]] static Errc check(const SharedSlot& slot, const RemoteGrant& grant) noexcept;
    [[nodiscard]] static Errc check(const SharedSlot& slot, const RemoteGrant& grant, std::uint64_t offset,
                                    std::uint64_t bytes, na::Access access) noexcept;
    [[nodiscard]] Errc begin(const RemoteGrant& grant, const std::stop_source& stop, bulk::Region& memory);
    [[nodiscard]] Errc check_again(const RemoteGrant& grant) noexcept;
    void end(const RemoteGrant& grant, const std::stop_source& stop) noexcept;
    [[nodiscard]] Result<void> serve();

    NodeCore& node_;
    const std::uint64_t id_;
    SlotPool<SharedSlot> slots_;
    std::mutex mutex_;  // guards the members below
    bool serving_ = false;
    na::Addr own_;      // empty until something is shared
    na::Addr listens_;  // the address for others; empty if this node does not listen
};

// Registers the handlers (remote_serve.cpp, remote_serve_blocks.cpp).
[[nodiscard]] Result<void> serve_remote(const NodeRef& node, std::shared_ptr<RemoteTable> table);
[[nodiscard]] Result<void> serve_remote_blocks(const NodeRef& node, std::shared_ptr<RemoteTable> table);

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
    // Call once, instead of the above: the window of one grant. permission: a block lies outside of it.
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
    std::vector<RemoteGrant> grants_;   // grants that this transfer has begun, to be ended
    std::vector<bulk::Region> memory_;  // of each grant
};

}  // namespace cinnabar::hl
