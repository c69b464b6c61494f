// SPDX-License-Identifier: BSD-3-Clause
// What the ports of all transports share that dial, accept and have sessions: the peers, the operations that wait for
// them, the states of their sessions (session_state.hpp), and what is deferred until the stack has unwound. A transport
// derives from it and says how a session is dialled and ended; the rest of it is about bytes.
//
// The hooks are virtual, and no hook is called for a message: a transport's own post() calls enqueue(), and its
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

class CINNABAR_API SessionPort : public Port {
  public:
    ~SessionPort() override;

    // na::Port
    void close() noexcept final;
    [[nodiscard]] Result<Peer*> peer(const Addr& addr) final;
    void unreferenced(Peer& peer) noexcept final;
    void disconnect(Peer& peer) noexcept final;
    void cancel(Op& op) noexcept final;
    void stop_accepting() noexcept final { accepting_ = false; }

    [[nodiscard]] PortHost& host() const noexcept { return host_; }
    [[nodiscard]] const TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    // Sessions, and those in the making. Any thread.
    [[nodiscard]] std::uint32_t session_count() const noexcept {
        return session_count_.load(std::memory_order_relaxed);
    }
    // A Hello of this context, for `to`; its incarnation may be 0: anybody.
    [[nodiscard]] Hello hello(HelloKind kind, const Identity& to) const noexcept {
        return make_hello(kind, transport_, host_, to);
    }
    // The Hello that dials a peer.
    [[nodiscard]] Hello dial_hello(const SessionPeer& peer) const noexcept;
    // The answer to a Hello that is turned down.
    [[nodiscard]] Hello reject_hello(const Hello& from, Errc why) const noexcept;

    // Completes it once the stack has unwound. Requires: it is in no list.
    void end(PostedOp& posted, Errc result) noexcept {
        posted.place = OpPlace::ended;
        posted.result = result;
        ended_.push_back(posted);
    }
    // Before a message of `messages` leaves, and no byte of it has.
    void show_delayed(SessionPeer& peer, const Op& op) noexcept {
        if (peer.delayed) {
            host_.receiver().on_delayed(peer, op.kind, op.tag, {op.message->payload, op.message_bytes});
        }
    }
    // Ends the peer's session, or its dial, once the stack has unwound. What waits for the peer ends at once with
    // `why`; what is posted from now on is for the next session.
    void end_session(SessionPeer& peer, Errc why) noexcept;
    // Runs what was deferred, unless that is under way further down the stack. Returns how much it did.
    unsigned settle() noexcept { return settling_ || !anything_deferred() ? 0 : settle_all(); }
    // Runs what a connection needs memory for. False: there is none, which is logged, and the connection must go.
    // Whoever connects decides when that is, so that nothing on their way may throw.
    template <typename F>
    [[nodiscard]] bool with_memory(F&& take) noexcept {
        try {
            take();
        } catch (const std::bad_alloc&) {
            log_no_memory();
            return false;
        }
        return true;
    }

  protected:
    SessionPort(Transport& transport, const TransportOptions& options, PortHost& host) noexcept
        : peers_(host), transport_(transport), options_(options), host_(host) {}

    // Puts a posted operation into its list of the peer, and dials where there is no session. False: it has ended.
    [[nodiscard]] bool enqueue(SessionPeer& peer, PostedOp& posted) noexcept {
        if (peer.session_state() == SessionState::idle && !dial_for(peer, posted)) return false;
        const bool message = is_message(posted.op->kind);
        posted.place = message ? OpPlace::messages : OpPlace::rma;
        (message ? peer.messages : peer.rma).push_back(posted);
        return true;
    }
    [[nodiscard]] bool anything_deferred() const noexcept { return !ended_.empty() || !endings_.empty(); }
    [[nodiscard]] bool anything_waits(const SessionPeer& peer) const noexcept {
        return !peer.messages.empty() || !peer.rma.empty();
    }

    // Why an incoming connection cannot be accepted: shutting_down; peer_lost: it means another incarnation; what
    // session_limit() says. ok: it can.
    [[nodiscard]] Errc refusal(const Hello& hello) const noexcept;
    // The peer of an accepted connection, as `make()` returns it: always a new one, whatever identity it claims
    // (decision 0027). Its session is opening. Null: with_memory() failed.
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
    // What is wrong with the answer to a dial: its reason, where it is a reject; protocol; peer_lost: it is of another
    // incarnation than the address means. ok: the session may begin.
    [[nodiscard]] static Errc misfit(const Hello& answer, const SessionPeer& peer) noexcept;
    // The connection is usable, and this is the peer's Hello. Tells the receiver.
    void opened(SessionPeer& peer, const Hello& theirs) noexcept;

    PeerTable peers_;

  private:
    // How a transport makes and ends sessions.
    // A peer of an address with endpoints; SessionPeer::dial_key says whether it is the same as another. Not dialled.
    [[nodiscard]] virtual Result<std::unique_ptr<SessionPeer>> make_peer(const Addr& addr) = 0;
    // Why no further session can be made now; ok: one can.
    [[nodiscard]] virtual Errc session_limit() const noexcept = 0;
    // The peer's state is `dialling`. A dial that fails at once calls end_session().
    virtual void begin_dial(SessionPeer& peer) noexcept = 0;
    // Ends the peer's connection and gives up its dial, as far as there are any.
    virtual void end_connection(SessionPeer& peer, Errc why) noexcept = 0;
    // Ends an operation that the transport has begun, if it can.
    virtual void cancel_begun(SessionPeer& peer, PostedOp& posted) noexcept = 0;
    // The port closes, in this order: no event comes any more; all connections end with `canceled`, whatever they have
    // posted ends as well; everything has completed.
    virtual void stop_events() noexcept = 0;
    virtual void end_connections() noexcept;
    virtual void release_all() noexcept {}

    [[nodiscard]] bool connect(SessionPeer& peer) noexcept;
    [[nodiscard]] bool dial_for(SessionPeer& peer, PostedOp& posted) noexcept;
    void log_no_memory() const noexcept;
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
