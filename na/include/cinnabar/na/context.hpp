// SPDX-License-Identifier: BSD-3-Clause
// A domain of progress: one completion queue, one timer wheel and one pollable descriptor over the ports of one or more
// transports. Only a context calls user code (in trigger()), and only a context checks state, capabilities and limits.
//
// Threads. A context opened with ThreadUse::one belongs to one thread; others may only call submit(). A context opened
// with ThreadUse::many may be used by any thread: a thread that posts, polls or fires timers owns the context for that
// moment. Callbacks run in trigger() without ownership, and concurrently if several threads call trigger(). Functions
// marked "owner" may be called inside an Op's completion, a WheelTimer, a submitted WorkItem, a Receiver function or an
// Ownership.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <memory>
#include <span>

namespace cinnabar::na {

struct ContextOptions {
    ThreadUse threads = ThreadUse::many;
    ContextId id = 0;
    // How long progress() polls at most before it sleeps; the actual time adapts between 0 and spin_max. 0: never spin.
    Microseconds spin_max{50};
    // Credits that the Hello announces to each new peer.
    std::uint32_t initial_credits = 2;
    // Contexts with the same transports in the same order may share a number from new_routes(): the transport that one
    // of them has found for an address is then known to all of them. 0: the context shares with none.
    std::uint64_t routes = 0;
};
// Returns a different number at each call, never 0. Any thread.
[[nodiscard]] CINNABAR_API std::uint64_t new_routes() noexcept;

class CINNABAR_API Context {
  public:
    // Opens a context; the transports and the receiver must outlive it. invalid_argument: no transport, or transports
    // with different clocks.
    [[nodiscard]] static Result<std::unique_ptr<Context>> open(std::span<Transport* const> transports,
                                                               const ContextOptions& options, Receiver& receiver);
    // Completes all posted ops with `canceled` first. Requires: no other thread is inside a function of the context.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Holds the ownership of the context during a scope; costs nothing for ThreadUse::one. For ThreadUse::many the
    // constructor waits for the present owner, which gives the ownership up soon, and always before it sleeps. Waiting
    // threads are served in order of arrival, including those in progress(). Never nest two Ownerships in one thread.
    // Inside a Receiver function, where the thread owns the context already, an Ownership does nothing.
    class Ownership;

    // Ends all connections: all posted ops complete with `canceled` inside this call, and later posts return `closed`.
    // The completion queue can still be triggered. Requires: no other thread is inside a function of the context.
    void close() noexcept;

    // The best port that reaches an address (same-host transports first), or null. Any thread.
    [[nodiscard]] Port* route(const Addr& addr) const noexcept;
    // Owner. The peer of an address on the best port that reaches it. unreachable: no port does; out_of_memory.
    [[nodiscard]] Result<Peer*> peer(const Addr& addr);
    // Owner. As peer(), but only from the cache: null means that peer() must be called. Requires: addr is not empty.
    [[nodiscard]] Peer* known_peer(const Addr& addr) const noexcept {
        return ordinal_ < AddrBody::shortcuts ? addr.body().peers[ordinal_] : nullptr;
    }
    [[nodiscard]] std::span<const std::unique_ptr<Port>> ports() const noexcept;
    [[nodiscard]] Transport& transport_of(const Port& port) const noexcept;

    // Owner. Checks the op and posts it. ok: exactly one completion follows, later. again: not taken, post it later.
    // unsupported, too_large, permission, invalid_argument: not taken. op.peer must be set.
    [[nodiscard]] Errc post_owned(Op& op) noexcept;
    // Owner. As Port::send_now; also false if the message is larger than the peer accepts.
    [[nodiscard]] bool send_now(Peer& peer, OpKind kind, Tag tag, ConstBytes message) noexcept {
        return message.size() <= peer.message_bytes_max() && peer.port().send_now(peer, kind, tag, message);
    }
    // As post_owned(), from any thread of a `many` context. If another thread owns the context, the op is handed over
    // to that thread, and an error of the post is reported by the completion (except `again`, which is retried).
    [[nodiscard]] Errc post(Op& op) noexcept;
    // Owner. As Port::view. unsupported: the transport lacks Caps::views; too_large: the range is not within the
    // memory.
    [[nodiscard]] Result<std::unique_ptr<View>> view(Peer& peer, const RemoteMemory& memory, std::uint64_t offset,
                                                     std::uint64_t bytes);
    // Owner. As Port::direct; other errors as view().
    [[nodiscard]] Result<std::unique_ptr<DirectMemory>> direct(Peer& peer, const RemoteMemory& memory,
                                                               std::uint64_t offset, std::uint64_t bytes,
                                                               Access access);
    // Owner. Asks to cancel a posted op; does nothing if it is not posted.
    void cancel_owned(Op& op) noexcept;

    // Runs `work` as the owner: at once if nobody owns the context (a flush follows), otherwise soon, in the thread
    // that owns the context. Inside a callback of a `many` context the work is queued, and runs when trigger() ends or
    // earlier. Any thread of a `many` context; the thread of a `one` context.
    void run_owned(WorkItem& work) noexcept;
    // For the calling thread and all contexts: while `*more` is not 0, run_owned() only submits its work, so that the
    // posts of many threads are sent together. Null turns this off; `more` must live until gathering is turned off.
    // Requires: a thread drives each context.
    static void gather_while(const std::atomic<std::uint32_t>* more) noexcept;
    // Queues `work` for the owner, who runs it inside progress(); wakes a sleeping owner. Never fails. Any thread, also
    // for a `one` context.
    void submit(WorkItem& work) noexcept;

    // Owner. Puts `work` on the completion queue; trigger() runs it.
    void enqueue(WorkItem& work) noexcept;

    // Polls all ports, fires timers, and runs submitted work. Returns how much it did; 0 if nothing happened within
    // `timeout`, or if progress() is called inside a Receiver function. Returns at once while the completion queue is
    // not empty. Spins for a bounded, adaptive time, then sleeps in the kernel; never sleeps if the timeout is zero.
    // With a virtual clock it never sleeps: the owner of the clock advances the clock when all contexts are idle.
    unsigned progress(Microseconds timeout) noexcept;
    // Runs at most `count_max` entries of the completion queue and returns how many it ran; none inside a Receiver
    // function.
    unsigned trigger(unsigned count_max) noexcept;
    // Call callback_begins() at the beginning and callback_ends() at the end of a callback that trigger() runs; both
    // return the coarse time. The end of one callback counts as the beginning of the next, so each callback in a row
    // reads the clock only once. Exact::yes: callback_begins() returns the exact time instead. `exactly`: the exact
    // time of the end, if the callback has just read it; then callback_ends() need not read the coarse time.
    enum class Exact : bool { no, yes };
    [[nodiscard]] TimeUs callback_begins(Exact exact = Exact::no) noexcept;
    TimeUs callback_ends(TimeUs exactly = time_never) noexcept;
    [[nodiscard]] bool has_completions() const noexcept;
    // The number of entries in the completion queue. Any thread; a snapshot.
    [[nodiscard]] std::uint32_t completions() const noexcept;

    // Returns a descriptor that is readable when progress() should be called, for foreign event loops. Call
    // prepare_wait() before each wait of such a loop: if prepare_wait() returns false, do not wait but call progress()
    // now.
    [[nodiscard]] int wait_fd() const noexcept;
    [[nodiscard]] bool prepare_wait() noexcept;
    // Makes a sleeping progress() return early. Any thread.
    void wake() noexcept;

    // Timers. Owner.
    void arm(WheelTimer& timer, TimeUs when) noexcept;
    void disarm(WheelTimer& timer) noexcept;
    // The time of the present round; progress() and fresh_now_us() update it.
    [[nodiscard]] TimeUs now_us() const noexcept;
    TimeUs fresh_now_us() noexcept;
    // Owner. As fresh_now_us(), but reads the clock at most once within one ownership.
    [[nodiscard]] TimeUs present_us() noexcept;
    // Owner. A time no later than the next timer's; time_never if none is armed. For the owner of a virtual clock.
    [[nodiscard]] TimeUs next_timer_us() const noexcept;
    [[nodiscard]] TimeSource& clock() const noexcept;

    [[nodiscard]] const ContextOptions& options() const noexcept;
    // A small number that no other living context of this process has.
    [[nodiscard]] std::uint32_t ordinal() const noexcept { return ordinal_; }
    // The number of ops that are posted and have not completed.
    [[nodiscard]] std::uint32_t ops_posted() const noexcept;
    // The number of threads that wait for the ownership. Any thread; a snapshot.
    [[nodiscard]] std::uint32_t waiting() const noexcept;

    // For tests and counters: how often this context slept in the kernel, and how often it was woken.
    struct Wakeups {
        std::uint64_t sleeps = 0;
        std::uint64_t rings = 0;
    };
    [[nodiscard]] Wakeups wakeups() const noexcept;

  private:
    class Impl;
    explicit Context(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
    const std::uint32_t ordinal_;
};

class CINNABAR_API Context::Ownership {
  public:
    explicit Ownership(Context& context) noexcept;
    ~Ownership();
    Ownership(const Ownership&) = delete;
    Ownership& operator=(const Ownership&) = delete;

  private:
    Context& context_;
    const bool nested_;
};

}  // namespace cinnabar::na
