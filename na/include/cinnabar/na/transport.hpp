// SPDX-License-Identifier: BSD-3-Clause
// The contract that a transport plugin fulfils: a Transport (one opened network: listener, registrations, leases) and
// its Ports (one per context: peers, messages, RMA). Users do not call these; they call Context, which checks state,
// capabilities and limits once for all plugins. docs/writing-a-plugin.md walks through it.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/message.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/na/peer.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/na/view.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::na {

class FdEvents;

// What a context gives to its ports. All of it: owner of the context only, inside Port functions, except wake().
class PortHost {
  public:
    [[nodiscard]] virtual Receiver& receiver() noexcept = 0;
    // Ends a posted op: sets its result, drops the reference to its peer, runs op.complete. Never from inside post().
    virtual void complete(Op& op, Errc result) noexcept = 0;
    [[nodiscard]] virtual TimeUs now_us() noexcept = 0;  // the round's time: cheap, a round old at most
    virtual void arm(Timer& timer, TimeUs when) noexcept = 0;
    virtual void disarm(Timer& timer) noexcept = 0;
    // The context's epoll descriptor, which it polls, or sleeps on.
    [[nodiscard]] virtual int epoll_fd() noexcept = 0;
    // Has `ready` told of these epoll events of a descriptor of the port's, which is taken out before it is closed.
    // watch_again changes the events. False, with errno, when the kernel refuses.
    [[nodiscard]] CINNABAR_API bool watch(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept;
    [[nodiscard]] CINNABAR_API bool watch_again(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept;
    CINNABAR_API void unwatch(int fd) noexcept;
    // Interrupts sleepers, if there are any, because there is something to poll: make it visible to prepare_wait()
    // first (sequentially consistent). Any thread.
    virtual void wake() noexcept = 0;
    // Hands work to the owner of the context. Any thread.
    virtual void submit(Work& work) noexcept = 0;
    [[nodiscard]] virtual ContextId context_id() const noexcept = 0;
    [[nodiscard]] virtual Threads threads() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t initial_credits() const noexcept = 0;
    // Whether progress() ever polls without sleeping: a port that looks at hot connections itself does so only then.
    [[nodiscard]] virtual bool spins() const noexcept = 0;
    // Before a port destroys a peer.
    virtual void peer_gone(Peer& peer) noexcept = 0;

  protected:
    ~PortHost() = default;
};

// A descriptor that a port watches.
class FdEvents {
  public:
    virtual void on_ready(std::uint32_t epoll_events) noexcept = 0;

  protected:
    ~FdEvents() = default;
};

// One per context and transport. Unless it says otherwise: owner of the context only, noexcept, never blocks, never
// runs a completion from inside the call.
class Port {
  public:
    // Requires: closed.
    virtual ~Port() = default;

    // Ends all connections and completes what is posted with `canceled` inside; reports no peer event. Afterwards only
    // give_message, release, detach (which says ok and does nothing) and Peer::release are called, and the destructor.
    virtual void close() noexcept = 0;

    // The peer of an address; made when it is new, not dialled. May throw bad_alloc, with nothing changed. unreachable:
    // of another transport, or a session that is gone. bad_address: a part means nothing. Host names are for a dial to
    // look up, on other threads (session/resolver.hpp); what waits for it then completes with bad_address.
    [[nodiscard]] virtual Result<Peer*> peer(const Addr& addr) = 0;
    // At zero references. The port may keep the peer while connected.
    virtual void unreferenced(Peer& peer) noexcept = 0;
    // Drops the connection, as if it had been lost; its ops complete with `peer_lost`.
    virtual void disconnect(Peer& peer) noexcept = 0;

    // Posts an op whose arguments na has checked; dials when needed (the op waits, within the connect timeout).
    // ok: taken. again: nothing taken, a queue or the hardware is full, or all send slots are out.
    [[nodiscard]] virtual Errc post(Op& op) noexcept = 0;
    // The short way of a message, behind what was posted before: the bytes are copied to where the network takes them,
    // and are the caller's again on return. No completion comes; a loss is told by the peer's event. False: nothing
    // taken, and the message is to be posted: the peer is not connected, something waits in front of it, there is no
    // room, or the transport has no such way.
    [[nodiscard]] virtual bool send_now(Peer&, OpKind, Tag, ConstBytes) noexcept { return false; }
    // Whether bytes that send_now() took wait here still, so that they would go with the connection.
    [[nodiscard]] virtual bool holds_unsent() const noexcept { return false; }
    // Asks for the end of a posted op; its completion still comes, once, with `canceled` or as it would have been.
    virtual void cancel(Op& op) noexcept = 0;

    // Only with Caps::views. A part of a peer's memory in place. unsupported: not this memory, or the system denies it;
    // peer_lost: not connected; permission: an invalid key, or one that is not for reading; out_of_memory.
    [[nodiscard]] virtual Result<std::unique_ptr<View>> view(Peer&, const RemoteMemory&, std::uint64_t /*offset*/,
                                                             std::uint64_t /*bytes*/) {
        return Error(Errc::unsupported);
    }

    // Looks for work once, without blocking, and hands out at most a bounded amount of it. Returns how much it did.
    virtual unsigned poll() noexcept = 0;
    // True while poll() itself looks at the descriptors that matter, so that the context asks the kernel for the others
    // only now and then.
    [[nodiscard]] virtual bool hot() const noexcept { return false; }
    // Sends what was posted since the last poll. Called before poll, before sleeping, and after a foreign thread
    // posted.
    virtual void flush() noexcept = 0;
    // Called before the context sleeps, and when a thread leaves it to another that sleeps: false when there is
    // something to poll already.
    [[nodiscard]] virtual bool prepare_wait() noexcept = 0;
    // Only of a transport with a clock of its own: progress() found nothing, and would now sleep until `until` (its
    // next timer, or the end of its timeout). It returns instead; the transport moves its clock when all are idle.
    virtual void idle(TimeUs) noexcept {}

    // A buffer to send from; null when all are out. Any thread of a `many` context.
    [[nodiscard]] virtual Message* take_message() noexcept = 0;
    virtual void give_message(Message& message) noexcept = 0;

    // Makes an arrival last beyond its delivery, for a short while (until trigger has run its handler). Fails only
    // with overloaded, when everything is held: then the caller must do with the view it has.
    [[nodiscard]] virtual Errc keep(Arrival& arrival, Kept& out) noexcept = 0;
    // The arrival will be held for long: gives its receive slot back by posting a spare, or copies the bytes out.
    // `kept.bytes` may move. overloaded: no spare and no room; it stays kept as it was.
    [[nodiscard]] virtual Errc detach(Kept& kept) noexcept = 0;
    virtual void release(Kept& kept) noexcept = 0;

    // Stops accepting and dialling; what is connected goes on. For drain.
    virtual void stop_accepting() noexcept = 0;
};

// One opened network. Any thread, except where it says otherwise. Destroyed after its ports.
class Transport {
  public:
    virtual ~Transport() = default;

    [[nodiscard]] virtual std::string_view scheme() const noexcept = 0;
    [[nodiscard]] virtual const Caps& caps() const noexcept = 0;
    [[nodiscard]] virtual const Limits& limits() const noexcept = 0;
    [[nodiscard]] virtual Incarnation incarnation() const noexcept = 0;
    // Where it listens, as others can dial it; empty when it does not listen.
    [[nodiscard]] virtual std::vector<std::string> endpoints() const = 0;
    // Whether it could dial such an endpoint, by its text alone.
    [[nodiscard]] virtual bool reaches(std::string_view endpoint) const noexcept = 0;
    // The clock that this network lives by; null for the machine's own. The simulator brings its own.
    [[nodiscard]] virtual TimeSource* clock() noexcept { return nullptr; }

    // exists: that context id is taken. too_large: contexts_max. The host outlives the port.
    [[nodiscard]] virtual Result<std::unique_ptr<Port>> open_port(PortHost& host) = 0;

    // too_large: over segments_max, registrations_max or registered_bytes_max. permission, out_of_memory: the system
    // refused.
    [[nodiscard]] virtual Result<std::unique_ptr<Memory>> register_memory(std::span<const Segment> segments,
                                                                          Access access) = 0;
    // Memory that this transport can share best (shared pages, huge pages); null when it has no preference.
    // The caller frees it with free_memory.
    [[nodiscard]] virtual void* allocate_memory(std::size_t) noexcept { return nullptr; }
    virtual void free_memory(void*, std::size_t) noexcept {}

    // Lends lease.memory[offset, offset + bytes) under a fresh random key. Fill in the first four fields before.
    // permission: more access than registered. too_large: all lease slots are out. No call into the kernel on tcp.
    [[nodiscard]] virtual Errc grant(Lease& lease) noexcept = 0;
    // Takes it back: `ok` means that no byte is read or written through it any more; `again` that lease.fenced will
    // run. Requires: granted.
    [[nodiscard]] virtual Errc revoke(Lease& lease) noexcept = 0;
    // Of a lease whose fence has failed: whether an access that began before is known to be under way still, whoever
    // makes it. False: it is over, or it ends with the connection of the peer that the memory was lent to.
    [[nodiscard]] virtual bool is_accessed(const Lease&) noexcept { return false; }
    // Writes the key that a peer needs (RemoteMemory::key); fails the writer when it does not fit.
    virtual void describe(const Lease& lease, Writer& writer) const noexcept = 0;
    [[nodiscard]] virtual std::size_t described_bytes(const Lease& lease) const noexcept = 0;

    // For `cinnabar info`: one line on what it found on this machine.
    [[nodiscard]] virtual std::string diagnosis() const { return {}; }
};

inline void Peer::release() noexcept {
    if (--references_ == 0) port_->unreferenced(*this);
}

}  // namespace cinnabar::na
