// SPDX-License-Identifier: BSD-3-Clause
// The state of a Context. Who owns what: everything is the owner's, except the members marked "shared".
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/context.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace cinnabar::na {

// What this thread is inside of: trigger(), whose callbacks hand to the owner what waits until so much has gathered, or
// the end (the context is then owned once, and what was posted leaves together; not much more than 64, so that the peer
// works on the first of it while this side is at the rest; not much less, since each send costs as much as several
// calls), or progress(), whose Receiver functions may call users' code as well.
struct CallingUser {
    const void* context = nullptr;
    const void* hands_to = nullptr;  // the same where it is for many threads; on one, who calls owns it
    unsigned handed_over = 0;        // by run_owned: not run yet
    unsigned unsent = 0;             // ownerships that left without sending
    bool owns = false;               // inside a port, which calls Receiver functions
    unsigned ran = 0;                // callbacks of this trigger(), with the one that runs
    unsigned timed = 0;              // the one at whose begin the time was callback_began; 0: none
    TimeUs callback_began = 0;
};
// Found without a call, also where the library is a shared one.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CallingUser calling_user;

class Context::Impl final : public PortHost {
  public:
    Impl(std::span<Transport* const> transports, const ContextOptions& options, Receiver& receiver, TimeSource& clock);
    ~Impl();
    [[nodiscard]] Result<void> open_descriptors();
    [[nodiscard]] Result<void> open_ports();
    // `known`: where to keep the answer; may be null.
    [[nodiscard]] Port* find_route(const Addr& addr, std::atomic<std::uint64_t>* known) const noexcept;
    void close() noexcept;

    // PortHost.
    [[nodiscard]] Receiver& receiver() noexcept override { return receiver_; }
    void complete(Op& op, Errc result) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return now_; }
    void arm(Timer& timer, TimeUs when) noexcept override { wheel_.arm(timer, when); }
    void disarm(Timer& timer) noexcept override { wheel_.disarm(timer); }
    [[nodiscard]] int epoll_fd() noexcept override { return epoll_.get(); }
    void wake() noexcept override;  // rings sleepers only
    void submit(Work& work) noexcept override;
    [[nodiscard]] ContextId context_id() const noexcept override { return options_.id; }
    [[nodiscard]] Threads threads() const noexcept override { return options_.threads; }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept override { return options_.initial_credits; }
    [[nodiscard]] bool spins() const noexcept override { return options_.spin_max.count() > 0; }
    void peer_gone(Peer& peer) noexcept override;
    // Owner. known_peer() gives `peer` for `addr` from now on, which is its own address or another name of it.
    void know(const Addr& addr, Peer& peer) noexcept;
    void forget_shortcut(const Addr& addr, const Peer& peer) const noexcept;

    // Ownership (context.cpp).
    // False while somebody owns the context, or waits for it: who asks first is served first.
    [[nodiscard]] bool try_own() noexcept {
        if (options_.threads == Threads::one) return true;
        // The load is sequentially consistent for who has pushed before: see let_go().
        if (ownership_.load(std::memory_order_seq_cst) != 0) return false;
        std::uint32_t free = 0;
        return ownership_.compare_exchange_strong(free, owned, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    // This thread is inside a Receiver function of the context.
    [[nodiscard]] bool owned_here() const noexcept { return calling_user.owns && calling_user.context == this; }
    [[nodiscard]] CallingUser calling_user_of() const noexcept {
        return {this, options_.threads == Threads::many ? this : nullptr};
    }
    // Waits for its turn.
    void own() noexcept;
    // `many` only. Ends the ownership and nothing else.
    void disown() noexcept {
        if (ownership_.fetch_sub(owned, std::memory_order_seq_cst) != owned) hand_over();
    }
    void hand_over() noexcept;
    [[nodiscard]] bool somebody_waits() const noexcept {
        return ownership_.load(std::memory_order_relaxed) >= one_waiter;
    }
    // Sends what was posted, gives the context up, and runs what others submitted meanwhile.
    void give_up() noexcept;
    // The same where nothing was posted since the last flush.
    void let_go() noexcept;
    void flush() noexcept;
    void flush_or_gather() noexcept;
    // Inside trigger(): runs what its callbacks handed over, and sends.
    void run_handed_over() noexcept;

    [[nodiscard]] Errc check(const Op& op) const noexcept;
    [[nodiscard]] Errc post_owned(Op& op) noexcept;
    void post_handed_over(Op& op) noexcept;
    void cancel_owned(Op& op) noexcept;

    void enqueue(Work& work) noexcept;
    void publish() noexcept;
    void publish_alone() noexcept;
    [[nodiscard]] Work* pop_completion() noexcept;
    [[nodiscard]] Work* pop_completion_alone() noexcept;
    [[gnu::noinline]] void run_owned_outside(Work& work) noexcept;
    [[gnu::noinline]] void handed_over_first() noexcept;

    // Progress (sleep.cpp).
    unsigned progress(Microseconds timeout) noexcept;
    // One look at everything. `about_to_sleep`: the kernel will be asked by the sleep, so mostly not here.
    unsigned round(bool about_to_sleep) noexcept;
    unsigned run_submitted() noexcept;
    enum class Look : std::uint8_t { now, asleep };
    unsigned dispatch(Look look, TimeUs until) noexcept;
    [[nodiscard]] bool ready_to_sleep() noexcept;
    unsigned sleep(TimeUs until) noexcept;
    void ring() noexcept;
    void ring_sleeper_if_needed() noexcept;
    [[nodiscard]] bool prepare_foreign_wait() noexcept;

    TimeUs refresh_now() noexcept { return now_ = clock_.now_us(); }

    const ContextOptions options_;
    Receiver& receiver_;
    TimeSource& clock_;
    const bool virtual_clock_;
    const std::uint32_t ordinal_;  // of those that are open
    const std::uint64_t serial_;   // of all that ever were
    std::vector<Transport*> transports_;
    std::vector<std::unique_ptr<Port>> ports_;

    TimerWheel wheel_;
    TimeUs now_;
    std::uint32_t ops_posted_ = 0;
    bool closed_ = false;
    bool publishes_at_once_ = options_.threads == Threads::one;  // or it is closed
    bool rung_ = false;  // somebody called wake(): progress() returns, with nothing done if need be
    IntrusiveQueue<Work, &Work::next_work> retries_;  // ops handed over that a port had no room for
    TimeUs kernel_looked_at_ = 0;                     // when epoll was asked
    Microseconds spin_{options_.spin_max};            // the present budget

    // Other names that peers were asked for by, so that their shortcuts end with the peers; the oldest is overwritten.
    struct OtherName {
        Addr addr;
        Peer* peer = nullptr;
    };
    std::array<OtherName, 64> other_names_;
    std::size_t other_name_next_ = 0;

    UniqueFd epoll_;
    UniqueFd ring_;   // an eventfd, edge-triggered and never read
    UniqueFd alarm_;  // a timerfd for foreign polls; made at the first of them
    TimeUs alarm_at_ = time_never;

    WorkQueue fresh_;  // completions that are not published yet
    std::uint32_t fresh_count_ = 0;

    // Shared.
    // Bit 0: somebody owns the context. Above it: how many threads wait for it in own(), to whom it is handed in the
    // order of their tickets. While it is not zero try_own() refuses.
    static constexpr std::uint32_t owned = 1;
    static constexpr std::uint32_t one_waiter = 2;
    std::atomic<std::uint32_t> ownership_{0};
    std::atomic<std::uint64_t> tickets_{0};              // given out
    std::uint64_t turn_ = 0;                             // the next ticket; the owner's
    std::array<std::atomic<std::uint32_t>, 8> turns_{};  // how many tickets of each residue had their turn
    SubmitQueue submitted_;
    std::atomic_flag completions_lock_;  // `many` only
    WorkQueue completions_;
    std::atomic<std::uint32_t> completions_count_{0};
    std::atomic<std::uint32_t> sleepers_{0};
    std::atomic<TimeUs> sleep_until_{time_never};
    std::atomic<bool> foreign_wait_{false};  // somebody polls wait_fd()
    std::atomic<std::uint64_t> sleeps_{0};
    std::atomic<std::uint64_t> rings_{0};
};

}  // namespace cinnabar::na
