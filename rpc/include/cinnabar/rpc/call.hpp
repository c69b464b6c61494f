// SPDX-License-Identifier: BSD-3-Clause
// A call as its origin sees it: made, filled, forwarded, completed once, released. It is a slot of its context's pool
// and never moves. One thread at a time uses it between make_call and forward, and after the completion; cancel may
// come from any thread while the slot is not released.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/silence.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/rpc/rpc_id.hpp>
#include <cinnabar/rpc/snapshot.hpp>
#include <cinnabar/rpc/times.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::rpc {

// How a pull gets on.
struct StallWatch {
    TimeUs began = 0;
    bulk::Silence silence;
};

class Call;
class Context;
class ContextCore;
struct RpcLend;
struct PeerBook;

// Runs once per forwarded call, from trigger(). The call is the callee's to read and to release.
using CallDone = void (*)(Call& call, void* user) noexcept;

// Names a call across its life: the low 24 bits are the slot, the rest its generation. It is also the network tag.
using CallId = std::uint64_t;
inline constexpr unsigned call_slot_bits = 24;

struct CallArgs {
    RpcId rpc = 0;
    ProviderId provider = 0;
    std::uint16_t shape = 0;  // of the argument type; 0: not checked
    // No reply comes. It completes when sent, or when what is large was fetched; then it reaches the handler even if
    // this side closes its context (Options::leave_max).
    bool one_way = false;
    // If set, the target's answer says how long it had the request, and this side records when the request left:
    // Call::times. Not for one-way calls.
    bool timed = false;
    TimeUs deadline = time_never;  // on the context's clock: Context::deadline_in
    TraceContext trace;            // the handler finds it in Request::trace
};

class CINNABAR_API Call : public AlignedPoolSlot {
  public:
    Call() = default;

    // Set by the layer above before forward(): when the call was made, on the context's clock. Snapshots show it. 0:
    // not known.
    TimeUs began_us = 0;

    // --- between make_call and forward
    CallArgs args;

    // Where arguments are encoded, in place of the message; forward() says how much was used.
    [[nodiscard]] Bytes input_room() const noexcept;
    // Arguments of `bytes` that do not fit there: a buffer of their own, which the target pulls. Once per call.
    // too_large: over argument_bytes_max. overloaded, out_of_memory.
    [[nodiscard]] Errc grow_input(std::size_t bytes, Bytes& room) noexcept;
    // Lends memory to the target until the call has completed, and writes the descriptor into the arguments. Read-only
    // memory of at most eager_bytes_max goes along itself. overloaded: lends_max. permission. too_large: the writer is
    // full. Errors of Region::memory_on.
    [[nodiscard]] Errc lend(const bulk::Region& region, na::Access access, Writer& writer) noexcept;
    [[nodiscard]] std::size_t lend_bytes(const bulk::Region& region, na::Access access) const noexcept;
    // Hands memory on that was lent to a request here: writes its descriptor bound to its owner. It stays lent by the
    // owner alone, for as long as the owner's call; this one waits, when it ends early, until its target has let go. As
    // bulk::forward.
    [[nodiscard]] Errc forward_memory(const bulk::RemoteRegion& remote, Writer& writer) noexcept;

    // The arguments have a handle by which the target reaches memory of this side that cannot be taken back by force.
    // So the call goes to a peer of the own user only, and else ends with `unsupported`; and its completion waits until
    // the target has let go, or the connection has ended.
    void shows_memory() noexcept { whole_way_ = shows_memory_ = true; }

    // Claims a place that the target has kept for this call in a queue of its own; the handler finds it in
    // Request::place (hl/admission.hpp). Only for a target that has given one: others may not know of places.
    void claim_place(std::uint64_t place) noexcept {
        whole_way_ = true;
        place_ = place;
    }

    // Sends it. ok: `done` will run once, from trigger(), whatever happens. Anything else: nothing was sent, `done`
    // does not run, the call can be released: closed (draining), overloaded (queues full), invalid_argument.
    // Fails later with: timed_out, canceled, refused, unreachable, peer_lost, overloaded, no_such_rpc, bad_signature,
    // protocol, too_large, permission, shutting_down, handler_failed, application, bad_address.
    [[nodiscard]] Errc forward(std::size_t input_bytes, CallDone done, void* user) noexcept;

    // Asks for an early end: the target's handler is told, and the completion comes once, with `canceled` or as it
    // would have been. Any thread; `id` guards against a slot that was released and taken by another call meanwhile.
    void cancel() noexcept;
    // The same, but carried out by the next progress(): this call never owns the context, so that nothing else that
    // waits for its owner runs inside. For who holds a lock that completions want.
    void cancel_soon() noexcept;

    // --- after the completion
    [[nodiscard]] Errc result() const noexcept { return result_; }
    // When the result was decided, on the context's clock: the time at which that round began.
    [[nodiscard]] TimeUs ended_us() const noexcept { return ended_us_; }
    // The handler's answer; valid until release. For `application`: see app_code and app_text. For `permission`, a text
    // names the rule of the target's policy that refused the call.
    [[nodiscard]] ConstBytes output() const noexcept { return output_; }
    [[nodiscard]] std::uint16_t output_shape() const noexcept { return output_shape_; }
    [[nodiscard]] std::uint32_t app_code() const noexcept { return app_code_; }
    [[nodiscard]] std::string_view app_text() const noexcept { return app_text_; }
    // False when the peer may still touch memory that the call lent (design: quarantine); true otherwise.
    [[nodiscard]] bool fenced() const noexcept { return !fence_failed_; }

    // False: the request never left this side, so the target cannot know of it.
    [[nodiscard]] bool was_sent() const noexcept { return (was_sent_ && !never_left_) || may_have_left_; }
    // Bytes of the memory that it lends. Call before forward().
    [[nodiscard]] std::uint64_t lent_bytes() const noexcept;

    // The phase in which it was when it ended with `timed_out`, `canceled` or `peer_lost`; `unknown` if that was not
    // recorded. `waited_us`: since when, if it was waiting to be sent; otherwise 0.
    [[nodiscard]] CallPhase ended_in(TimeUs& waited_us) const noexcept;
    // For a call with CallArgs::timed that was answered: when it left this side, on the context's clock, and what the
    // target says. False: the answer does not say.
    [[nodiscard]] bool times(TimeUs& sent_us, TargetTimes& target) const noexcept;
    // Of the transport that the call used; static storage.
    [[nodiscard]] std::string_view scheme() const noexcept;

    // Gives the slot back. In flight, it cancels the call, and `done` does not run any more. Any thread.
    void release() noexcept;

    [[nodiscard]] CallId id() const noexcept { return id_of(generation_.load(std::memory_order_relaxed), slot_index); }
    [[nodiscard]] Context& context() const noexcept;
    [[nodiscard]] const na::Addr& peer() const noexcept { return to_; }

  private:
    friend class Context;
    friend class ContextCore;
    friend class Control;
    friend class Deadlines;
    friend class LargeValues;
    friend class Origin;
    friend class Peers;
    friend class Replies;
    friend class SendQueue;
    friend struct PeerBook;
    enum class State : std::uint8_t { idle, made, queued, sent, pulling, ended };
    // Who may free the slot: the caller before forward and after delivery, the context in between.
    enum class Phase : std::uint8_t { outside, in_flight, abandoned };

    [[nodiscard]] static CallId id_of(std::uint64_t generation, std::uint32_t slot) noexcept {
        return generation << call_slot_bits | slot;
    }
    [[nodiscard]] bool holds_message_only() const noexcept { return !whole_way_ || nothing_beside_message(); }
    [[nodiscard]] bool nothing_beside_message() const noexcept {
        return op_.state == na::OpState::idle && !pull_ && !lends_ && !reply_ && !reply_copy_ && !large_input_ &&
               !large_output_;
    }
    [[nodiscard]] bool is_sent() const noexcept { return state_ == State::sent || state_ == State::pulling; }
    [[gnu::noinline]] void release_whole_way() noexcept;
    // False when a cancel is on its way already.
    [[nodiscard]] bool prepare_cancel(std::uint64_t generation) noexcept;

    // What a call by the short way uses, in four cache lines.
    ContextCore* core_ = nullptr;
    na::Message* message_ = nullptr;
    na::Addr to_;
    na::Port* port_ = nullptr;
    PeerBook* book_ = nullptr;
    CallDone done_ = nullptr;
    void* user_ = nullptr;
    std::atomic<std::uint64_t> generation_{1};
    Work work_;  // handing over, then the completion, then the release
    ConstBytes output_;
    TimeUs ended_us_ = 0;
    std::atomic<std::uint64_t> cancel_generation_{0};  // whom the queued cancel_work_ means; 0: it is not queued
    std::uint32_t input_bytes_ = 0;
    std::uint32_t connection_ = 0;  // of its book, when it was posted
    ListLink<Call> link_;           // queued, in its peer's book
    ListLink<Call> deadline_link_;  // in ContextCore::deadlines, or else the timer is armed
    std::atomic<Phase> phase_{Phase::outside};
    State state_ = State::idle;
    Errc result_ = Errc::ok;
    std::uint16_t output_shape_ = 0;
    bool whole_way_ = false;       // it uses, or has used, what is not for the short way
    bool was_sent_ = false;        // the target may know of it
    bool completed_ = false;       // the completion is queued or delivered
    bool nothing_left_ = false;    // when it was completed, but the message: any thread may free the slot
    bool canceled_early_ = false;  // before it was submitted
    bool free_after_cancel_ = false;
    bool free_when_over_ = false;  // released, but the transport holds the message still

    TimeUs stale_at_ = time_never;  // half its time is over; of one that is queued
    Work cancel_work_;              // queued while cancel_generation_ is not 0

    // What is idle and empty while whole_way_ is false.
    bool awaiting_release_ = false;  // lent memory may be in use; the target has been asked
    bool fence_failed_ = false;
    bool forwards_ = false;  // memory of others
    bool overflow_ = false;
    std::uint32_t fences_ = 0;  // revocations under way
    std::uint64_t place_ = 0;   // 0: none
    na::Op op_;                 // the request
    Timer timer_;               // the deadline, then the fence's grace
    RpcLend* lends_ = nullptr;  // a list through RpcLend::next
    na::Kept reply_;
    std::unique_ptr<std::byte[]> reply_copy_;  // instead, where too many are kept
    std::uint32_t reply_copy_bytes_ = 0;
    std::uint32_t app_code_ = 0;
    std::string_view app_text_;
    bulk::Region large_input_;
    bulk::Region large_output_;
    bulk::RemoteRegion remote_output_;
    bulk::Transfer* pull_ = nullptr;
    StallWatch watch_;

    // For calls that are timed.
    TimeUs sent_us_ = 0;
    TargetTimes target_times_;

    // Recorded when a call ends early, so that other calls pay nothing. The generation says which use of the slot it
    // was.
    std::uint64_t noted_generation_ = 0;
    TimeUs noted_wait_us_ = 0;
    CallPhase noted_phase_ = CallPhase::unknown;

    bool times_came_ = false;     // for a timed call
    bool never_left_ = false;     // posted with a dial that failed
    bool shows_memory_ = false;   // by a handle; idle and false while whole_way_ is false
    bool may_have_left_ = false;  // its operation failed, and it may have reached the target or not
};

}  // namespace cinnabar::rpc
