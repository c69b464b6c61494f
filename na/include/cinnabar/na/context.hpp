// SPDX-License-Identifier: BSD-3-Clause
// A domain of progress: one completion queue, one timer wheel and one pollable descriptor over the ports of one or more
// transports. It is the only place where user code is called (trigger) and where state, capability and limit checks
// are made.
//
// Threads. A context opened for `one` belongs to the thread that uses it; only submit() may be called from others. A
// context for `many` may be used by any thread: whoever posts, polls or fires timers owns it for that moment; callbacks
// run in trigger() without owning it, several at once if several threads trigger. Functions marked "owner" may be
// called inside an Op's completion, a Timer, a submitted Work, a Receiver function or an Ownership.
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
    Threads threads = Threads::many;
    ContextId id = 0;
    // progress() polls for at most this long before it sleeps; adapts between 0 and this. 0: never spin.
    Microseconds spin_max{50};
    // Credits announced to each new peer in the Hello.
    std::uint32_t initial_credits = 2;
};

class CINNABAR_API Context {
  public:
    // The transports and the receiver must outlive the context. invalid_argument: no transport, or clocks that differ.
    [[nodiscard]] static Result<std::unique_ptr<Context>> open(std::span<Transport* const> transports,
                                                               const ContextOptions& options, Receiver& receiver);
    // Completes what is posted with `canceled` first. Requires: no other thread is inside.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Ownership for the length of a scope; on `one` it costs nothing. `many`: waits for the present owner, who holds it
    // for a bounded moment and never while sleeping, and for those who asked before; whoever asks later comes later,
    // progress() included. Never take it twice in one thread; inside a Receiver function it is owned already, and
    // taking it does nothing.
    class Ownership;

    // Ends all connections: everything posted completes with `canceled` inside, and later posts answer `closed`. The
    // completion queue goes on. Requires: no other thread is inside.
    void close() noexcept;

    // The port that reaches an address best (same-host transports first), or null. Any thread.
    [[nodiscard]] Port* route(const Addr& addr) const noexcept;
    // Owner. The peer of an address on the port that reaches it best. unreachable: none does; out_of_memory.
    [[nodiscard]] Result<Peer*> peer(const Addr& addr);
    // Owner. The same, of an address that peer() was asked for before; null where it has to be asked again. Requires:
    // it is not empty.
    [[nodiscard]] Peer* known_peer(const Addr& addr) const noexcept {
        return ordinal_ < AddrBody::shortcuts ? addr.body().peers[ordinal_] : nullptr;
    }
    [[nodiscard]] std::span<const std::unique_ptr<Port>> ports() const noexcept;
    [[nodiscard]] Transport& transport_of(const Port& port) const noexcept;

    // Owner. Checks the op and posts it. ok: exactly one completion comes, later. again: nothing taken. unsupported,
    // too_large, permission, invalid_argument: nothing taken either. op.peer must be set.
    [[nodiscard]] Errc post_owned(Op& op) noexcept;
    // Owner. As Port::send_now; also false for more than the peer takes.
    [[nodiscard]] bool send_now(Peer& peer, OpKind kind, Tag tag, ConstBytes message) noexcept {
        return message.size() <= peer.message_bytes_max() && peer.port().send_now(peer, kind, tag, message);
    }
    // The same as post_owned() from any thread of a `many` context; when another thread owns it, the op is handed over
    // and what post would have answered comes as the completion (`again` is then retried, not reported).
    [[nodiscard]] Errc post(Op& op) noexcept;
    // Owner. As Port::view; unsupported: the transport lacks Caps::views; too_large: not within the memory.
    [[nodiscard]] Result<std::unique_ptr<View>> view(Peer& peer, const RemoteMemory& memory, std::uint64_t offset,
                                                     std::uint64_t bytes);
    // Owner. Asks for the end of a posted op; nothing happens when it is not posted.
    void cancel_owned(Op& op) noexcept;

    // Runs `work` as the owner: at once if nobody owns the context (then `flush` follows), else soon, by whoever does;
    // in a callback of a `many` context as trigger() ends. Any thread of a `many` context; the thread of a `one` one.
    void run_owned(Work& work) noexcept;
    // For the calling thread and all contexts: while `*more` is not 0, run_owned() submits, so that what many threads
    // post leaves together. Null ends that; `more` lives until then. Requires: a thread drives each context.
    static void gather_while(const std::atomic<std::uint32_t>* more) noexcept;
    // Hands `work` to the owner, to run inside progress(). Any thread, either kind; never lost, rings a sleeper.
    void submit(Work& work) noexcept;

    // Puts a node on the completion queue, to be run by trigger(). Owner.
    void enqueue(Work& work) noexcept;

    // Polls all ports, fires timers, runs what was submitted. Returns how much was done; 0 after `timeout` passed with
    // nothing, and inside a Receiver function. Returns at once while the completion queue is not empty. A zero timeout
    // never sleeps. Spins for a bounded, adaptive time, then sleeps in the kernel. On a virtual clock it never sleeps:
    // whoever owns that clock moves it on when all contexts are idle.
    unsigned progress(Microseconds timeout) noexcept;
    // Runs at most `count_max` nodes of the completion queue and returns how many; none inside a Receiver function.
    unsigned trigger(unsigned count_max) noexcept;
    // Inside a callback of trigger(): the coarse time of its begin and of its end, asked for in this order. A callback
    // begins when the one before it ends, so that of several in a row each costs one look at the clock.
    [[nodiscard]] TimeUs callback_begins() noexcept;
    TimeUs callback_ends() noexcept;
    [[nodiscard]] bool has_completions() const noexcept;
    // Nodes that wait for trigger(). Any thread; a snapshot.
    [[nodiscard]] std::uint32_t completions() const noexcept;

    // One descriptor that is readable when progress() should be called, for foreign event loops. Call prepare_wait()
    // before each foreign poll: false means do not wait, call progress() now.
    [[nodiscard]] int wait_fd() const noexcept;
    [[nodiscard]] bool prepare_wait() noexcept;
    // Makes a sleeping progress() return early. Any thread.
    void wake() noexcept;

    // Timers. Owner.
    void arm(Timer& timer, TimeUs when) noexcept;
    void disarm(Timer& timer) noexcept;
    // Of the present round; refreshed by progress() and fresh_now().
    [[nodiscard]] TimeUs now_us() const noexcept;
    TimeUs fresh_now_us() noexcept;
    // Owner. As fresh_now_us(), but not read again within one ownership.
    [[nodiscard]] TimeUs present_us() noexcept;
    // Owner. At or before the next timer; time_never when none is armed. For whoever moves a virtual clock.
    [[nodiscard]] TimeUs next_timer_us() const noexcept;
    [[nodiscard]] TimeSource& clock() const noexcept;

    [[nodiscard]] const ContextOptions& options() const noexcept;
    // A small number that no other living context of this process has.
    [[nodiscard]] std::uint32_t ordinal() const noexcept { return ordinal_; }
    // Ops that are posted and not complete.
    [[nodiscard]] std::uint32_t ops_posted() const noexcept;
    // Threads that wait for the ownership now. Any thread; a snapshot.
    [[nodiscard]] std::uint32_t waiting() const noexcept;

    // For tests and counters: how often this context slept in the kernel, and how often it was rung.
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
