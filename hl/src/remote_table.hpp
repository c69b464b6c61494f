// SPDX-License-Identifier: BSD-3-Clause
// RemoteTable: the memory that a node shares. Each shared memory has a slot; whatever decides about a token is decided
// under the lock of its slot, so renewing and withdrawing need no more than that lock. Thread-safe.
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
    std::uint32_t lease = 0;  // counts the uses of the slot
    std::uint64_t version = 1;
    SipKey key{};
    std::vector<std::stop_source> under_way;  // of operations that move bytes in bulk, and of notices
    std::vector<Waiter*> waiting;             // for the last of them
    std::shared_ptr<const NoticeFunction> notified;
};

class RemoteTable : public std::enable_shared_from_this<RemoteTable> {
  public:
    static constexpr std::uint32_t shares_max = 65'536;

    explicit RemoteTable(NodeCore& node);
    [[nodiscard]] static RemoteTable& of(const NodeRef& node) noexcept;
    // In the grants of this node.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    // Where this node's own operations on its own memory go.
    [[nodiscard]] na::Addr own_address();

    // --- sharing
    [[nodiscard]] Result<SharedBytes> share(const bulk::Region& memory, na::Access access);
    [[nodiscard]] RemoteBytes token(SharedSlot& slot, const RemoteGrant& wanted);
    void renew(SharedSlot& slot, std::uint32_t lease) noexcept;
    // Stops what is under way; true: nothing is.
    bool withdraw(SharedSlot& slot, std::uint32_t lease) noexcept;
    void await_idle(SharedSlot& slot, std::uint32_t lease) noexcept;
    [[nodiscard]] bool in_use(SharedSlot& slot, std::uint32_t lease) noexcept;
    void on_notified(SharedSlot& slot, std::uint32_t lease, std::shared_ptr<const NoticeFunction> function);

    // --- what the calls do. Errors: stale, permission.
    [[nodiscard]] Errc read(const RemoteGrant& grant, std::uint64_t offset, Bytes to) noexcept;
    // In steps of write_step_bytes, each checked anew.
    [[nodiscard]] Errc write(const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) noexcept;
    // The same to the next bytes of a list of blocks, which lies inside the grant.
    [[nodiscard]] Errc write(const RemoteGrant& grant, bulk::BlockWalk& to, ConstBytes from) noexcept;
    // invalid_argument: not aligned, or in two segments.
    [[nodiscard]] Errc word(const remote_calls::Word& call, std::uint64_t& before) noexcept;
    // Nothing if the grant is stale by now.
    void notify(const RemoteGrant& grant, RemoteNotice notice);

  private:
    friend class RemoteTransfer;
    struct Notifying;
    static constexpr std::size_t write_step_bytes = 64 * 1024;

    // Null: of another node, or never used.
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
    std::mutex mutex_;  // for what follows
    bool serving_ = false;
    na::Addr own_;      // empty until something is shared
    na::Addr listens_;  // the same for others; empty if this node does not listen
};

// The handlers (remote_serve.cpp, remote_serve_blocks.cpp).
[[nodiscard]] Result<void> serve_remote(const NodeRef& node, std::shared_ptr<RemoteTable> table);
[[nodiscard]] Result<void> serve_remote_blocks(const NodeRef& node, std::shared_ptr<RemoteTable> table);

// An operation that moves bytes in bulk: the memory stays and is known to be in use until it ends.
class RemoteTransfer {
  public:
    explicit RemoteTransfer(std::shared_ptr<RemoteTable> table) noexcept : table_(std::move(table)) {}
    ~RemoteTransfer();
    RemoteTransfer(const RemoteTransfer&) = delete;
    RemoteTransfer& operator=(const RemoteTransfer&) = delete;

    // Once. The pieces as one region. invalid_argument: none, or no such grant; too_large: too many of them.
    [[nodiscard]] Result<bulk::Region> begin(const std::vector<RemoteGrant>& grants,
                                             const std::vector<remote_calls::Piece>& pieces, na::Access access);
    // Once, in place of that: the window of one grant. permission: the blocks do not lie inside it.
    [[nodiscard]] Result<bulk::Region> begin(const RemoteGrant& grant, const bulk::Blocks& blocks, na::Access access);
    // Whether all of it is still what it was.
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
    std::vector<RemoteGrant> grants_;   // that have begun
    std::vector<bulk::Region> memory_;  // of each
};

}  // namespace cinnabar::hl
