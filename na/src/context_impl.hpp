// SPDX-License-Identifier: BSD-3-Clause
// The state of a Context. All members are the owner's, except those under "Shared".
#pragma once

#include "completion_queue.hpp"
#include "fair_lock.hpp"
#include "peer_shortcuts.hpp"
#include "sleepers.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/context.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace cinnabar::na {

// What the present thread is doing in a context: running trigger(), or running progress() inside a port. Work that
// callbacks of trigger() hand to the owner is collected until there are 64 items or trigger() ends; then this thread
// owns the context once and sends everything together. With more than 64 items, the peer would wait while this side
// works on the rest; with fewer items, sending would dominate, since one send costs as much as several calls.
struct CallingUser {
    const void* context = nullptr;
    // The same context if it is ThreadUse::many; otherwise null, because the calling thread owns the context.
    const void* hands_to = nullptr;
    unsigned handed_over = 0;  // work of run_owned() that has not run yet
    unsigned unsent = 0;       // ownerships that ended without a flush
    bool owns = false;         // inside a port, which calls Receiver functions: the thread owns the context
    unsigned ran = 0;          // callbacks that this trigger() has run, including the present one
    unsigned timed = 0;        // the callback (by `ran`) that began at callback_began; 0: none
    TimeUs callback_began = 0;
    bool exact = false;  // callback_began is the exact time, not the coarse one
};
// initial-exec: reached without a function call, also in a shared library.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CallingUser calling_user;

class Context::Impl final : public PortHost {
  public:
    Impl(std::span<Transport* const> transports, const ContextOptions& options, Receiver& receiver, TimeSource& clock);
    ~Impl();
    [[nodiscard]] Result<void> open();
    [[nodiscard]] Transport& transport_of(const Port& port) const noexcept;
    void close() noexcept;

    // PortHost.
    [[nodiscard]] Receiver& receiver() noexcept override { return receiver_; }
    void complete(Op& op, Errc result) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return now_; }
    void arm(WheelTimer& timer, TimeUs when) noexcept override { wheel_.arm(timer, when); }
    void disarm(WheelTimer& timer) noexcept override { wheel_.disarm(timer); }
    [[nodiscard]] int epoll_fd() noexcept override { return epoll_.get(); }
    void wake() noexcept override { sleepers_.ring_if_any(); }
    void submit(WorkItem& work) noexcept override;
    [[nodiscard]] ContextId context_id() const noexcept override { return options_.id; }
    [[nodiscard]] ThreadUse threads() const noexcept override { return options_.threads; }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept override { return options_.initial_credits; }
    [[nodiscard]] bool spins() const noexcept override { return options_.spin_max.count() > 0; }
    void peer_gone(Peer& peer) noexcept override { peer_shortcuts_.remove(peer); }

    // Ownership (context.cpp).
    [[nodiscard]] bool try_own() noexcept { return options_.threads == ThreadUse::one || ownership_.try_lock(); }
    // Waits for its turn to own the context.
    void own() noexcept {
        if (options_.threads == ThreadUse::many) ownership_.lock();
    }
    // Whether this thread is inside a Receiver function of the context.
    [[nodiscard]] bool owned_here() const noexcept { return calling_user.owns && calling_user.context == this; }
    // Flushes, ends the ownership, and runs what other threads submitted meanwhile.
    void give_up() noexcept;
    // As give_up(), if nothing was posted since the last flush.
    void let_go() noexcept;
    void flush() noexcept;
    void flush_or_gather() noexcept;
    // Inside trigger(): runs what its callbacks handed over, and flushes.
    void run_handed_over() noexcept;

    [[nodiscard]] Errc post_owned(Op& op) noexcept;
    void post_handed_over(Op& op) noexcept;
    void cancel_owned(Op& op) noexcept;

    [[gnu::noinline]] void run_owned_outside(WorkItem& work) noexcept;
    [[gnu::noinline]] void handed_over_first() noexcept;

    // Progress (sleep.cpp).
    unsigned progress(Microseconds timeout) noexcept;
    // One round: polls everything once. `about_to_sleep`: a sleep follows, which will ask epoll anyway, so this round
    // usually skips epoll.
    unsigned round(bool about_to_sleep) noexcept;
    unsigned run_submitted() noexcept;
    enum class Look : std::uint8_t { now, asleep };
    unsigned dispatch(Look look, TimeUs until) noexcept;
    [[nodiscard]] bool ready_to_sleep() noexcept;
    unsigned sleep(TimeUs until) noexcept;
    void ring_sleeper_if_needed() noexcept;
    [[nodiscard]] bool prepare_foreign_wait() noexcept;

    TimeUs refresh_now() noexcept { return now_ = std::max(now_, clock_.now_us()); }  // another thread may have set it

    const ContextOptions options_;
    Receiver& receiver_;
    TimeSource& clock_;
    const bool virtual_clock_;
    // What calling_user is set to inside trigger() and progress().
    const CallingUser inside_{this, options_.threads == ThreadUse::many ? this : nullptr};
    const std::uint32_t ordinal_;  // unique among the contexts that are open
    const std::uint64_t routes_;   // ContextOptions::routes, or a number of its own
    std::vector<Transport*> transports_;
    std::vector<std::unique_ptr<Port>> ports_;

    TimerWheel wheel_;
    TimeUs now_;
    std::uint32_t ops_posted_ = 0;
    bool closed_ = false;
    bool rung_ = false;  // wake() was called: progress() returns, even if it has done nothing
    IntrusiveQueue<WorkItem, &WorkItem::next_work> retries_;  // handed-over ops that a port answered `again`
    TimeUs kernel_looked_at_ = 0;                             // when epoll was last asked
    Microseconds spin_{options_.spin_max};                    // how long progress() spins at present

    PeerShortcuts peer_shortcuts_;

    UniqueFd epoll_;
    UniqueFd alarm_;  // a timerfd for foreign event loops; made when first needed
    TimeUs alarm_at_ = time_never;

    // Shared.
    FairLock ownership_;  // `many` only
    SubmitQueue submitted_;
    CompletionQueue completions_;
    Sleepers sleepers_;
};

}  // namespace cinnabar::na
