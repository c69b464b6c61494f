// SPDX-License-Identifier: BSD-3-Clause
// Which leases for one peer still have to be bound to the peer's queue pair, and which are bound to it. Any thread may
// revoke a lease, while only the owners of contexts bind leases and end sessions: hence the lock. The paths of messages
// take the lock only if a lease waits to be bound.
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

// The leases for one peer whose windows wait to be bound to the peer's session, which may not have begun yet.
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
    // Owner of the peer's context: adds the lease to `peer`, the leases to be bound to the peer's session. Does nothing
    // if the lease was added before.
    void add(LentMemory& lent, LeasesToBind& peer) noexcept;
    // Owner of the context: fills `out` with at most `most` requests that bind leases of `peer`, and adds these leases
    // to `bound`, the session's list of bound leases. Call completed() when a request has completed or was given up.
    void take(LeasesToBind& peer, LentList& bound, std::uint32_t most, BindRequests& out) noexcept;
    // Owner of the context: call when a request for the lease has ended, successfully or not. Returns the lease if it
    // was revoked meanwhile and can end now; otherwise null.
    [[nodiscard]] na::Lease* completed(LentMemory& lent) noexcept;
    // Call when the lease is revoked. True: the device has no request that would still bind the lease, so the lease can
    // end now. False: completed() returns the lease later.
    [[nodiscard]] bool leave(LentMemory& lent, na::Lease& lease) noexcept;
    // Owner of the context: call when a session drains, because its peer may be freed before the session is. Binds no
    // more windows of the lease that is bound in part.
    void stop(LentList& bound) noexcept;
    // Owner of the context: frees the windows that are bound to a session. Call it before the session's queue pair is
    // destroyed, because the device refers to the queue pair while windows are bound to it.
    void release(LentList& bound) noexcept;

  private:
    friend class LeasesToBind;
    void forget(LeasesToBind& peer) noexcept;
    static void wait_no_longer(LentMemory& lent) noexcept;

    std::mutex mutex_;
};

}  // namespace cinnabar::verbs
