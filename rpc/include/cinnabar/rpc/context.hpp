// SPDX-License-Identifier: BSD-3-Clause
// Where calls are made and requests arrive: one na context over the engine's transports, with the books of credits, the
// pools of calls and requests, and the bulk mover. Threads: as na::Context, whose `one` or `many` it shares.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/options.hpp>
#include <cinnabar/rpc/request.hpp>
#include <cinnabar/rpc/snapshot.hpp>

#include <memory>
#include <span>

namespace cinnabar::rpc {

class ContextCore;
class Engine;

class CINNABAR_API Context {
  public:
    // Lets one-way calls and answers leave, for Options::leave_max at most; calls that wait for an answer end with
    // `canceled` at once. Callbacks, and handlers of requests that came, run inside. Handlers that still hold requests
    // may release them later. Requires: no other thread is inside.
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // A call to fill and forward; null with `why`: overloaded (calls_max, or no message buffer), unreachable (no
    // transport reaches it), closed (draining).
    [[nodiscard]] Call* make_call(const na::Addr& to, Errc& why) noexcept;
    // The same, but takes the place of `over`, which has completed and is released in any case. The new call mostly
    // gets its slot, which is cheaper than releasing one and taking another. For calls to one peer, one after the
    // other.
    [[nodiscard]] Call* make_call_in_place_of(Call& over, const na::Addr& to, Errc& why) noexcept;
    // Cancels the call of that id, if it is still that one. Any thread.
    void cancel(CallId id) noexcept;

    // Replaces Options::policy for requests that arrive from now on; null: no policy. Any thread.
    void set_policy(std::shared_ptr<const Policy> policy) noexcept;

    // As na::Context's.
    unsigned progress(Microseconds timeout) noexcept;
    unsigned trigger(unsigned count_max) noexcept;
    [[nodiscard]] int wait_fd() const noexcept;
    [[nodiscard]] bool prepare_wait() noexcept;

    // Now plus `span`, on this context's clock; time_never for Microseconds::max(). Any thread.
    [[nodiscard]] TimeUs deadline_in(Microseconds span) const noexcept;
    [[nodiscard]] TimeUs now_us() const noexcept;  // fresh; any thread

    [[nodiscard]] na::Context& na() noexcept;
    [[nodiscard]] bulk::Mover& mover() noexcept;
    [[nodiscard]] Engine& engine() noexcept;
    [[nodiscard]] const Options& options() const noexcept;
    // The engine's address with this context's id.
    [[nodiscard]] na::Addr self_addr() const;

    // A snapshot, for tests, drain and `info`.
    struct Counts {
        std::uint32_t calls = 0;            // made and not released
        std::uint32_t requests = 0;         // held
        std::uint32_t peers = 0;            // books
        std::uint32_t queued = 0;           // calls that wait for credits
        std::uint64_t credits_granted = 0;  // in the hands of peers
        std::uint64_t overflow_bytes = 0;
        std::uint64_t overflow_kept = 0;   // memory kept for reuse by large arguments and results
        std::uint64_t decoded_bytes = 0;   // that are charged for arguments
        std::uint32_t connections = 0;     // peers that are connected
        std::uint32_t leases = 0;          // held, including those in quarantine
        std::uint32_t quarantined = 0;     // lent memory that a peer may still touch
        std::uint32_t transfers = 0;       // bulk, not released
        std::uint32_t replies_owed = 0;    // receive slots set aside for replies
        std::uint32_t replies_kept = 0;    // receive slots that replies hold until their calls are released
        std::uint64_t sessions_ended = 0;  // of peers that broke the rules, since the context was opened
        std::uint32_t replies_unsent = 0;  // replies to others that have not left
    };
    [[nodiscard]] Counts counts();
    // Fill `out` from `place` on, advance `place`, and return the number of entries. A page may be shorter than `out`
    // although more follows, since one look takes a bounded number of steps. Any thread, but not inside a function that
    // owns the context.
    unsigned look_at_peers(LookPlace& place, std::span<PeerSnapshot> out) noexcept;
    unsigned look_at_calls(LookPlace& place, std::span<CallSnapshot> out) noexcept;
    // Message buffers that slots of calls and requests retain, in use or not. For tests; requires: no other thread uses
    // the context or its calls.
    [[nodiscard]] std::uint32_t messages_retained();

    // Told of peers coming and going, from trigger(). One function per context; null for none.
    using PeerFunction = void (*)(const na::Addr& peer, na::PeerEvent event, Errc why, void* user) noexcept;
    void on_peer(PeerFunction function, void* user) noexcept;

    // For the layer above; not touched here.
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
