// SPDX-License-Identifier: BSD-3-Clause
// Which leases for one peer still have to be bound to the queue pair of that peer, and which are bound to it. A lease
// is revoked on any thread, while sessions bind it and end as owners of their context: hence the lock, which the paths
// of messages do not take unless a lease waits.
#pragma once

#include "memory.hpp"
#include "work_request.hpp"

#include <cinnabar/base/intrusive_queue.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace cinnabar::verbs {

class Bindings;

using LentList = IntrusiveList<LentMemory, &LentMemory::binding_link>;

// Of a peer: the leases whose windows wait to be bound to its session, now or once there is one.
class LeasesToBind {
  public:
    LeasesToBind() = default;
    ~LeasesToBind();
    LeasesToBind(const LeasesToBind&) = delete;
    LeasesToBind& operator=(const LeasesToBind&) = delete;

    // Owner of the context: true if a request may have to be posted before the next message.
    [[nodiscard]] bool any() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }

  private:
    friend class Bindings;
    Bindings* bindings_ = nullptr;  // set when it first has a lease
    LentList list_;
    std::atomic<std::uint32_t> waiting_{0};  // in the list, or bound in part
};

// Work requests that bind windows, linked to each other. The caller sets wr_id and the signalling.
struct BindRequests {
    std::array<ibv_send_wr, op_requests_max> requests;
    std::array<LentMemory*, op_requests_max> lent;
    std::uint32_t count = 0;
};

class Bindings {
  public:
    // Owner of the peer's context: the lease has to be bound to sessions of the peer with that list. Does nothing if it
    // was already asked to.
    void add(LentMemory& lent, LeasesToBind& peer) noexcept;
    // Owner of the context: fills in at most `most` requests for a session, whose list of bound leases is `bound`. For
    // each request that is posted or given up, completed() has to be called.
    void take(LeasesToBind& peer, LentList& bound, std::uint32_t most, BindRequests& out) noexcept;
    // Owner of the context: a request of the lease is over, whatever way. Returns the lease if it was revoked meanwhile
    // and can end now; else null.
    [[nodiscard]] na::Lease* completed(LentMemory& lent) noexcept;
    // The lease is revoked. True: the device has no request that would still bind it, so it can end now. False:
    // completed() returns it later.
    [[nodiscard]] bool leave(LentMemory& lent, na::Lease& lease) noexcept;
    // Owner of the context: frees the windows that are bound to a session. Call it before the queue pair is destroyed,
    // to which the device refers while windows are bound to it.
    void release(LentList& bound) noexcept;

  private:
    friend class LeasesToBind;
    void forget(LeasesToBind& peer) noexcept;
    static void wait_no_longer(LentMemory& lent) noexcept;

    std::mutex mutex_;
};

}  // namespace cinnabar::verbs
