// SPDX-License-Identifier: BSD-3-Clause
// A context of the RPC layer: makes calls and receives requests. A context has an na context over the engine's
// transports, the credit accounts of its peers, pools of calls and requests, and a bulk mover. Threads: as na::Context,
// including ThreadUse::one and ThreadUse::many.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/options.hpp>
#include <cinnabar/rpc/peer_times.hpp>
#include <cinnabar/rpc/request.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <memory>
#include <span>

namespace cinnabar::rpc {

class ContextCore;
class Engine;

class CINNABAR_API Context {
  public:
    // Waits, for at most Options::leave_max, until one-way calls and answers have been sent; calls that wait for an
    // answer end with `canceled` at once. Runs callbacks, and the handlers of requests that have arrived. Handlers that
    // still hold requests may release them later. Requires: no other thread is inside a function of the context.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // Makes a call to be filled and forwarded. Null, with `why`: overloaded (calls_max, or no message buffer),
    // unreachable (no transport reaches the address), closed (draining).
    [[nodiscard]] Call* make_call(const na::Addr& to, Errc& why) noexcept;
    // As make_call(), but reuses `over`, a completed call, which is released in any case. The new call usually gets the
    // slot of `over`, which is cheaper than releasing a slot and taking another. Meant for successive calls to one
    // peer.
    [[nodiscard]] Call* make_call_in_place_of(Call& over, const na::Addr& to, Errc& why) noexcept;
    // Cancels the call with that id; does nothing if the call was released. Any thread.
    void cancel(CallId id) noexcept;

    // Replaces Options::policy for all requests that arrive from now on; null: no policy. Any thread.
    void set_policy(std::shared_ptr<const Policy> policy) noexcept;

    // Asks the peer at this address to close its connection, if neither side uses it and nothing has arrived on it for
    // `quiet`; otherwise does nothing. No call is lost: calls that are made meanwhile are sent on the next connection.
    // A transfer in progress counts as use; but a transfer that belongs to no call to the peer may end with peer_lost
    // if it begins before the peer has answered. Meant for peers that will not be called again soon, when there are too
    // many connections. Any thread; waits for the owner.
    void ask_to_leave(const na::Addr& peer, Microseconds quiet) noexcept;

    // As in na::Context.
    unsigned progress(Microseconds timeout) noexcept;
    unsigned trigger(unsigned count_max) noexcept;
    // Runs the handlers of urgent requests that have arrived (Handler::urgent). Any thread.
    void run_urgent() noexcept;
    // As progress() without a timeout, for a second thread beside the one that runs the handlers: this function ignores
    // Handler::on_arrival, so that two handlers never run at once. The progress functions of transfers
    // (bulk::TransferProgress) may run.
    void progress_beside() noexcept;
    [[nodiscard]] int wait_fd() const noexcept;
    [[nodiscard]] bool prepare_wait() noexcept;

    // Now plus `span`, on this context's clock; time_never for Microseconds::max(). Any thread.
    [[nodiscard]] TimeUs deadline_in(Microseconds span) const noexcept;
    [[nodiscard]] TimeUs now_us() const noexcept;  // reads the clock; any thread

    [[nodiscard]] na::Context& na() noexcept;
    [[nodiscard]] bulk::Mover& mover() noexcept;
    [[nodiscard]] Engine& engine() noexcept;
    [[nodiscard]] const Options& options() const noexcept;
    // The engine's address with this context's id.
    [[nodiscard]] na::Addr self_addr() const;

    // A snapshot, for tests, draining and the `info` command.
    struct Counts {
        std::uint32_t calls = 0;            // made and not released
        std::uint32_t requests = 0;         // held
        std::uint32_t peers = 0;            // peers for which a PeerBook is kept
        std::uint32_t queued = 0;           // calls that wait to be sent
        std::uint64_t credits_granted = 0;  // the credit budgets of all peers together
        std::uint64_t large_bytes = 0;
        std::uint64_t large_bytes_kept = 0;  // bytes of freed buffers for large arguments and results, kept for reuse
        std::uint64_t decoded_bytes = 0;     // charged for decoded arguments
        std::uint32_t connections = 0;       // connected peers
        std::uint32_t leases = 0;            // held, including those in quarantine
        std::uint32_t quarantined = 0;       // leases whose memory a peer may still access
        std::uint32_t transfers = 0;         // bulk transfers that were not released
        std::uint32_t replies_pending = 0;   // receive slots reserved for replies
        std::uint32_t replies_kept = 0;      // receive slots that replies hold until their calls are released
        std::uint64_t sessions_ended = 0;  // connections cut off for breaking the protocol since the context was opened
        std::uint32_t replies_unsent = 0;  // replies to peers that were not sent yet
    };
    [[nodiscard]] Counts counts();
    // The look_at functions fill `out` starting at `cursor`, advance `cursor`, and return the number of entries. They
    // may return fewer entries than fit although more follow, because each call takes a bounded number of steps. Any
    // thread, but not inside a function that owns the context.
    unsigned look_at_peers(LookCursor& cursor, std::span<PeerSnapshot> out) noexcept;
    unsigned look_at_calls(LookCursor& cursor, std::span<CallSnapshot> out) noexcept;
    // Finds the times of the calls to this address. False: no call was timed since the connection was made. Searches
    // all peers. Any thread, but not inside a function that owns the context.
    [[nodiscard]] bool peer_times(const na::Addr& to, PeerTimes& out) noexcept;
    // As above, without a search, for a peer that look_at_peers() has just found; false also if the peer is gone.
    [[nodiscard]] bool peer_times(const PeerSnapshot& of, PeerTimes& out) noexcept;
    // The number of message buffers that slots of calls and requests retain, in use or not. For tests. Requires: no
    // other thread uses the context or its calls.
    [[nodiscard]] std::uint32_t messages_retained();

    // Sets the function that is told when a peer is connected, lost or restarted. The function runs from trigger(). A
    // context has at most one; null: none.
    using PeerFunction = void (*)(const na::Addr& peer, na::PeerEvent event, Errc why, void* user) noexcept;
    void on_peer(PeerFunction function, void* user) noexcept;

    // For the layer above; the context does not use it.
    void* user_data = nullptr;

  private:
    friend class Engine;
    friend class Call;
    friend class Notice;
    friend class Request;
    explicit Context(std::shared_ptr<ContextCore> core) noexcept;
    std::shared_ptr<ContextCore> core_;
};

}  // namespace cinnabar::rpc
