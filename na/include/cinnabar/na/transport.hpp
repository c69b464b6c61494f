// SPDX-License-Identifier: BSD-3-Clause
// The interface that a transport plugin implements: a Transport (one opened network: listener, registrations, leases)
// and its Ports (one per context: peers, messages, RMA). Users do not call a Transport or a Port; they call Context,
// which checks state, capabilities and limits for all plugins. docs/writing-a-plugin.md walks through an
// implementation.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/direct_memory.hpp>
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

// What a context offers to its ports. Owner of the context only, inside Port functions, except wake() and submit().
class PortHost {
  public:
    [[nodiscard]] virtual Receiver& receiver() noexcept = 0;
    // Completes a posted op: sets its result, releases the reference to its peer, runs op.complete. Never inside
    // post().
    virtual void complete(Op& op, Errc result) noexcept = 0;
    // The time when the present round began: cheap to read, and at most one round old.
    [[nodiscard]] virtual TimeUs now_us() noexcept = 0;
    virtual void arm(WheelTimer& timer, TimeUs when) noexcept = 0;
    virtual void disarm(WheelTimer& timer) noexcept = 0;
    // The context's epoll descriptor, which the context polls or sleeps on.
    [[nodiscard]] virtual int epoll_fd() noexcept = 0;
    // watch() calls `ready` when these epoll events occur on a descriptor of the port; watch_again() changes the
    // events; call unwatch() before closing the descriptor. False, with errno: the kernel refused.
    [[nodiscard]] CINNABAR_API bool watch(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept;
    [[nodiscard]] CINNABAR_API bool watch_again(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept;
    CINNABAR_API void unwatch(int fd) noexcept;
    // Wakes sleeping threads, if there are any. Before this call, publish the new work with a sequentially consistent
    // store, so that prepare_wait() of a thread that is about to sleep sees it. Any thread.
    virtual void wake() noexcept = 0;
    // Queues work for the owner of the context. Any thread.
    virtual void submit(WorkItem& work) noexcept = 0;
    [[nodiscard]] virtual ContextId context_id() const noexcept = 0;
    [[nodiscard]] virtual ThreadUse threads() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t initial_credits() const noexcept = 0;
    // Whether progress() spins before it sleeps. A port polls hot connections itself only in that case.
    [[nodiscard]] virtual bool spins() const noexcept = 0;
    // Call it before destroying a peer.
    virtual void peer_gone(Peer& peer) noexcept = 0;

  protected:
    ~PortHost() = default;
};

// Receives the events of a watched descriptor.
class FdEvents {
  public:
    virtual void on_ready(std::uint32_t epoll_events) noexcept = 0;

  protected:
    ~FdEvents() = default;
};

// One per context and transport. Unless stated otherwise: owner of the context only, noexcept, never blocks, never runs
// a completion inside the call.
class Port {
  public:
    // Requires: close() was called.
    virtual ~Port() = default;

    // Ends all connections and completes all posted ops with `canceled` inside the call; reports no peer event.
    // Afterwards only these functions are called: give_message, release, detach (returns ok and does nothing),
    // Peer::release, and the destructor.
    virtual void close() noexcept = 0;

    // Returns the peer of an address; creates the peer if it is new, and does not dial. May throw bad_alloc, with
    // nothing changed. unreachable: an address of another transport, or of a session that has ended. bad_address: a
    // part is invalid. Host names are resolved by the dial, on other threads (session/resolver.hpp); if a look-up
    // fails, the ops that wait complete with bad_address.
    [[nodiscard]] virtual Result<Peer*> peer(const Addr& addr) = 0;
    // Called when the last reference is released. The port may keep the peer while it is connected.
    virtual void unreferenced(Peer& peer) noexcept = 0;
    // Drops the connection as if it were lost; the peer's ops complete with `peer_lost`.
    virtual void disconnect(Peer& peer) noexcept = 0;

    // Posts an op whose arguments na has checked. Dials if there is no connection; the op then waits, at most for the
    // connect timeout. ok: taken. again: not taken, because a queue or the hardware is full or all send slots are in
    // use.
    [[nodiscard]] virtual Errc post(Op& op) noexcept = 0;
    // A fast path for small messages: copies the bytes to where the network takes them, after everything that was
    // posted before; the caller may reuse its memory on return. No completion follows; a loss is reported by the peer's
    // event. False: not taken, post the message instead: the peer is not connected, something waits ahead of it, there
    // is no room, or the transport has no such path.
    [[nodiscard]] virtual bool send_now(Peer&, OpKind, Tag, ConstBytes) noexcept { return false; }
    // Whether bytes that send_now() took are still held here, so that they would be lost with the connection.
    [[nodiscard]] virtual bool holds_unsent() const noexcept { return false; }
    // Asks to cancel a posted op. Its completion still follows, once, with `canceled` or with its normal result.
    virtual void cancel(Op& op) noexcept = 0;

    // Only with Caps::views. Maps a part of a peer's memory for reading in place. unsupported: not possible for this
    // memory, or denied by the system; peer_lost: not connected; permission: an invalid key, or one without read
    // access; out_of_memory.
    [[nodiscard]] virtual Result<std::unique_ptr<View>> view(Peer&, const RemoteMemory&, std::uint64_t /*offset*/,
                                                             std::uint64_t /*bytes*/) {
        return Error(Errc::unsupported);
    }
    // Only with Caps::views. Maps a part of a peer's memory for reads and writes by this process. Errors: as view();
    // overloaded: the session already has its maximum number of such mappings.
    [[nodiscard]] virtual Result<std::unique_ptr<DirectMemory>> direct(Peer&, const RemoteMemory&,
                                                                       std::uint64_t /*offset*/,
                                                                       std::uint64_t /*bytes*/, Access) {
        return Error(Errc::unsupported);
    }

    // Looks for work once, without blocking, and does a bounded amount of it. Returns how much it did.
    virtual unsigned poll() noexcept = 0;
    // True while poll() itself reads the busy descriptors; the context then asks epoll for the others only now and
    // then.
    [[nodiscard]] virtual bool hot() const noexcept { return false; }
    // Sends what was posted since the last poll. Called before poll(), before sleeping, and after another thread
    // posted.
    virtual void flush() noexcept = 0;
    // Called before the context sleeps, and before a thread gives the context up while another one sleeps. False: there
    // is something to poll, do not sleep.
    [[nodiscard]] virtual bool prepare_wait() noexcept = 0;
    // Only for a transport with its own clock. progress() calls idle() instead of sleeping when it has found nothing to
    // do, and then returns. `until`: the time of the next timer, or of the end of the timeout of progress(). When all
    // contexts are idle, the transport advances its clock.
    virtual void idle(TimeUs /*until*/) noexcept {}

    // A buffer to send from; null: all are in use. Any thread of a `many` context.
    [[nodiscard]] virtual Message* take_message() noexcept = 0;
    virtual void give_message(Message& message) noexcept = 0;

    // Keeps an arrival valid beyond its delivery for a short time (until trigger has run its handler). overloaded: too
    // many are kept; the caller can only use the view during the delivery.
    [[nodiscard]] virtual Errc keep(Arrival& arrival, Kept& out) noexcept = 0;
    // For an arrival that will be kept for long: frees its receive slot, by posting a spare one or by copying the
    // bytes. `kept.bytes` may change. overloaded: no spare and no memory; the arrival stays kept unchanged.
    [[nodiscard]] virtual Errc detach(Kept& kept) noexcept = 0;
    virtual void release(Kept& kept) noexcept = 0;

    // For draining: accepts and dials no more; existing connections continue.
    virtual void stop_accepting() noexcept = 0;
};

// One opened network. Any thread, unless stated otherwise. Destroyed after its ports.
class Transport {
  public:
    virtual ~Transport() = default;

    [[nodiscard]] virtual std::string_view scheme() const noexcept = 0;
    [[nodiscard]] virtual const Caps& caps() const noexcept = 0;
    [[nodiscard]] virtual const Limits& limits() const noexcept = 0;
    [[nodiscard]] virtual Incarnation incarnation() const noexcept = 0;
    // The addresses at which peers can dial this transport; empty if it does not listen.
    [[nodiscard]] virtual std::vector<std::string> endpoints() const = 0;
    // Whether this transport could dial the endpoint. Never connects, but may make system calls: shm looks the name up
    // on this host.
    [[nodiscard]] virtual bool reaches(std::string_view endpoint) const noexcept = 0;
    // The clock of this network; null: the machine's. The simulator has its own.
    [[nodiscard]] virtual TimeSource* clock() noexcept { return nullptr; }

    // Opens the port of a context; the host must outlive the port. exists: that context id has a port already.
    // too_large: contexts_max ports are open.
    [[nodiscard]] virtual Result<std::unique_ptr<Port>> open_port(PortHost& host) = 0;

    // Registers memory. too_large: over segments_max, registrations_max or registered_bytes_max. permission,
    // out_of_memory: the system refused.
    [[nodiscard]] virtual Result<std::unique_ptr<Memory>> register_memory(std::span<const Segment> segments,
                                                                          Access access) = 0;
    // Allocates memory that this transport can share best (shared pages, huge pages); null: the transport has no
    // preference. Free the memory with free_memory.
    [[nodiscard]] virtual void* allocate_memory(std::size_t) noexcept { return nullptr; }
    virtual void free_memory(void*, std::size_t) noexcept {}

    // Grants access to lease.memory[offset, offset + bytes) under a new random key; the caller fills in the first five
    // fields of `lease`. permission: more access than was registered. too_large: all lease slots are in use. Most
    // grants on tcp make no system call.
    [[nodiscard]] virtual Errc grant(Lease& lease) noexcept = 0;
    // Restricts a lease to this peer and lease.guests: other peers cannot use the lease even if they have its key. Call
    // confine() before a message with the key is posted, as the owner of the peer's context. The transport does what a
    // device needs for it before that message is sent. Until then, further calls for the same peer have no effect.
    // confine() does nothing without Caps::confines. Without Caps::admits_guests, it does nothing to a lease for
    // LentTo::anyone.
    virtual void confine(const Lease&, const Peer&) noexcept {}
    // Restricts a lease to peers that map the memory and access it themselves (Port::direct): this process refuses to
    // carry out accesses by this lease for peers. Call keep_to_direct() before the key is sent. False, with nothing
    // changed: no peer could map this memory, or the transport has no Caps::views. Requires: granted.
    [[nodiscard]] virtual bool keep_to_direct(const Lease&) noexcept { return false; }
    // Revokes a lease. ok: no more bytes are read or written through the lease. again: an access is still in progress;
    // lease.fenced runs when it has ended. Requires: granted.
    [[nodiscard]] virtual Errc revoke(Lease& lease) noexcept = 0;
    // For a lease whose fence failed: whether an access that began before the revocation is known to be still in
    // progress. False: the access is over, or will end at the latest with the connection to the peer that the lease was
    // granted to.
    [[nodiscard]] virtual bool is_accessed(const Lease&) noexcept { return false; }
    // Writes the key that a peer needs (RemoteMemory::key). If it does not fit, the writer fails.
    virtual void describe(const Lease& lease, ByteWriter& writer) const noexcept = 0;
    [[nodiscard]] virtual std::size_t described_bytes(const Lease& lease) const noexcept = 0;

    // For `cinnabar info`: one line about what the transport found on this machine.
    [[nodiscard]] virtual std::string diagnosis() const { return {}; }
};

inline void Peer::release() noexcept {
    if (--references_ == 0) port_->unreferenced(*this);
}

}  // namespace cinnabar::na
