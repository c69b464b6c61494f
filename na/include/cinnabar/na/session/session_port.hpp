// SPDX-License-Identifier: BSD-3-Clause
// The base of the ports of all transports that have sessions: their peers, the operations that wait for them, the
// states of the sessions (session_state.hpp), and deferred work. Completions and the ends of sessions are deferred:
// they run in settle(), when no function of a connection or a peer is on the stack. The port of a transport derives
// from this class and implements how a session is dialled and ended; the rest of the transport moves bytes.
//
// The private virtual functions are not called per message: a transport's own post() calls enqueue(), and its
// connections call end(). Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/peer_table.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <memory>
#include <new>

namespace cinnabar::na {

// Logs that a connection of this transport is dropped for lack of memory. Any thread; limited in its rate.
CINNABAR_API void log_connection_dropped(const Transport& transport) noexcept;

class CINNABAR_API SessionPort : public Port {
  public:
    ~SessionPort() override;

    // Overrides of na::Port.
    void close() noexcept final;
    [[nodiscard]] Result<Peer*> peer(const Addr& addr) final;
    void unreferenced(Peer& peer) noexcept final;
    void disconnect(Peer& peer) noexcept final;
    void cancel(Op& op) noexcept final;
    void stop_accepting() noexcept final { accepting_ = false; }

    [[nodiscard]] PortHost& host() const noexcept { return host_; }
    [[nodiscard]] const TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    // Sessions, including those being set up. Any thread.
    [[nodiscard]] std::uint32_t session_count() const noexcept {
        return session_count_.load(std::memory_order_relaxed);
    }
    // A Hello from this context to `to`; incarnation 0 means any. A dial is to SessionPeer::wanted().
    [[nodiscard]] Hello hello(HelloKind kind, const Identity& to) const noexcept {
        return make_hello(kind, transport_, host_, to);
    }
    // The answer to a Hello that is rejected.
    [[nodiscard]] Hello reject_hello(const Hello& from, Errc why) const noexcept;

    // Defers the completion of an operation. Requires: the operation is in no list.
    void end(PostedOp& posted, Errc result) noexcept {
        posted.stage = OpStage::ended;
        posted.result = result;
        ended_.push_back(posted);
    }
    // Call before the first byte of a message of `messages` is sent.
    void show_delayed(SessionPeer& peer, const Op& op) noexcept {
        if (peer.delayed) {
            host_.receiver().on_delayed(peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
        }
    }
    // Ends the peer's session or dial, deferred. Operations that wait for the peer end at once with `why`; those posted
    // from now on wait for the next session. `because`: see Peer::lost_because.
    void end_session(SessionPeer& peer, Errc why, const char* because = nullptr) noexcept;
    // Runs the deferred work, unless a caller further up the stack is doing so. Returns how much it did.
    unsigned settle() noexcept { return settling_ || !anything_deferred() ? 0 : settle_all(); }
    // Runs `take`, which allocates what a connection needs. False: out of memory; this is logged, and the caller must
    // drop the connection. Remote peers decide when connections arrive, so bad_alloc must not escape.
    template <typename F>
    [[nodiscard]] bool with_memory(F&& take) noexcept {
        try {
            take();
        } catch (const std::bad_alloc&) {
            log_connection_dropped(transport_);
            return false;
        }
        return true;
    }

  protected:
    SessionPort(Transport& transport, const TransportOptions& options, PortHost& host) noexcept
        : peers_(host), transport_(transport), options_(options), host_(host) {}

    // Puts a posted operation into the peer's list for its kind, and dials if there is no session. False: the operation
    // has ended.
    [[nodiscard]] bool enqueue(SessionPeer& peer, PostedOp& posted) noexcept {
        if (peer.session_state() == SessionState::idle && !dial_for(peer, posted)) return false;
        const bool message = is_message(posted.op->kind);
        posted.stage = message ? OpStage::messages : OpStage::rma;
        (message ? peer.messages : peer.rma).push_back(posted);
        return true;
    }
    [[nodiscard]] bool anything_deferred() const noexcept { return !ended_.empty() || !endings_.empty(); }

    // Returns why an incoming connection must be rejected: shutting_down; peer_lost: the Hello asks for another
    // incarnation; an error of session_limit(). ok: accept the connection.
    [[nodiscard]] Errc refusal(const Hello& hello) const noexcept;
    // Adds the peer that `make()` returns for an accepted connection. This peer is always new, whatever identity it
    // claims, so two sides that connect to each other at once (a simultaneous connect) keep two connections (decision
    // 0027). The session of the new peer is opening. Null: with_memory() failed.
    template <typename F>
    [[nodiscard]] auto add_incoming(F&& make) noexcept -> decltype(make().get()) {
        decltype(make().get()) peer = nullptr;
        const bool added = with_memory([&] {
            auto made = make();
            auto* const added_peer = made.get();
            peers_.add(std::move(made));
            peer = added_peer;
        });
        if (!added) return nullptr;
        peer->step(SessionEvent::accept);
        count_sessions(1);
        return peer;
    }
    // Call when the connection is usable. `theirs`: the peer's Hello. Reports the event to the receiver.
    void opened(SessionPeer& peer, const Hello& theirs) noexcept;

    PeerTable peers_;

  private:
    // These functions make and end sessions.
    // Makes the peer of an address that has endpoints, without dialling it. Two addresses name the same peer if the
    // peers made for them have the same SessionPeer::dial_key.
    [[nodiscard]] virtual Result<std::unique_ptr<SessionPeer>> make_peer(const Addr& addr) = 0;
    // Why no further session can be opened now; ok: one can.
    [[nodiscard]] virtual Errc session_limit() const noexcept = 0;
    // Called in the state `dialling`. If the dial fails at once, it calls end_session().
    virtual void begin_dial(SessionPeer& peer) noexcept = 0;
    // Ends the peer's connection and its dial, if there are any.
    virtual void end_connection(SessionPeer& peer, Errc why) noexcept = 0;
    // Ends an operation that the transport has started, if possible.
    virtual void cancel_begun(SessionPeer& peer, PostedOp& posted) noexcept = 0;
    // Called by close(), in this order: stop_events() must prevent further events; end_connections() must end all
    // connections, and their posted operations with `canceled`; release_all() is called when everything has completed.
    virtual void stop_events() noexcept = 0;
    virtual void end_connections() noexcept;
    virtual void release_all() noexcept {}

    [[nodiscard]] bool connect(SessionPeer& peer) noexcept;
    [[nodiscard]] bool dial_for(SessionPeer& peer, PostedOp& posted) noexcept;
    void count_sessions(int change) noexcept {
        session_count_.store(session_count() + static_cast<std::uint32_t>(change), std::memory_order_relaxed);
    }
    void session_over(SessionPeer& peer) noexcept;
    void end_waiting(SessionPeer& peer, Errc why) noexcept;
    void end_too_large(SessionPeer& peer) noexcept;
    unsigned settle_all() noexcept;
    bool complete_one() noexcept;

    Transport& transport_;
    const TransportOptions& options_;
    PortHost& host_;
    PostedOps ended_;
    IntrusiveList<SessionPeer, &SessionPeer::ending_link> endings_;
    std::atomic<std::uint32_t> session_count_{0};
    bool settling_ = false;
    bool accepting_ = true;
    bool closed_ = false;
};

}  // namespace cinnabar::na
