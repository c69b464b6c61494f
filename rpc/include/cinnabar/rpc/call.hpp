// SPDX-License-Identifier: BSD-3-Clause
// A call as seen by its origin, which makes, fills and forwards the call, gets its completion once, and releases it. A
// call is a slot in a pool of its context and never moves. Only one thread at a time may use it between make_call and
// forward, and after its completion; any thread may cancel it until it is released.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/smaller.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/silence.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/guests.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/rpc/call_waits.hpp>
#include <cinnabar/rpc/rpc_id.hpp>
#include <cinnabar/rpc/times.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::rpc {

// Progress of a pull, for detecting a stall (rpc/src/large_values_stall.cpp).
struct StallWatch {
    TimeUs began = 0;
    bulk::Silence silence;
};

class Call;
class Context;
class ContextCore;
struct RpcLend;
struct PeerBook;

// Runs once per forwarded call, from trigger(). The function may read the call, and must release it.
using CallDone = void (*)(Call& call, void* user) noexcept;

// Identifies a call during its life: the low 24 bits are the slot, the others its generation. It is also the na tag.
using CallId = std::uint64_t;
inline constexpr unsigned call_slot_bits = 24;

// Which peers may use memory that a call lends. `target`: the target of the call alone; `guests`: the target and some
// third parties (guests.hpp); `anyone`: every peer that has the descriptor. Only transports with na::Caps::confines
// enforce `target`, and only those with admits_guests enforce `guests`. The target may forward the memory to a third
// party, except with `target`.
enum class Audience : std::uint8_t { target, anyone, guests };

struct CallArgs {
    RpcId rpc = 0;
    ProviderId provider = 0;
    std::uint16_t shape = 0;  // of the argument type; 0: not checked
    // No reply is sent. The call completes when its request was sent, or when the target has fetched its arguments, if
    // these are large. After its completion, the call reaches the handler even if this side closes its context,
    // provided that the request leaves within Options::leave_max.
    bool one_way = false;
    // Asks the target to report how long it had the request, and records at this side where the time of the call goes
    // (Call::times). Requires: Call::began_us is set. Not for one-way calls.
    bool timed = false;
    Sampled sampled = Sampled::yes;  // of the trace, if there is one; passed to the handler in Request::asks
    TimeUs deadline = time_never;    // on the context's clock: Context::deadline_in
    TraceContext trace;              // passed to the handler as Request::trace
};

class CINNABAR_API Call : public AlignedPoolSlot {
  public:
    Call() = default;

    // When the call was made, on the context's clock; 0: not known. The layer above sets this time before forward();
    // snapshots and timed calls use it.
    TimeUs began_us = 0;

    // --- between make_call and forward
    CallArgs args;

    // The room in the message for the encoded arguments; pass the number of bytes used to forward().
    [[nodiscard]] Bytes input_room() const noexcept;
    // Provides a separate buffer of `bytes` for arguments that do not fit in input_room(); the target pulls the
    // arguments from it. Call it at most once per call. too_large: more than argument_bytes_max. overloaded:
    // large_bytes_max is used up. out_of_memory.
    [[nodiscard]] Errc grow_input(std::size_t bytes, Bytes& room) noexcept;
    // Lends memory to the target until the call has completed, and writes the memory's descriptor into the arguments.
    // Read-only memory of at most eager_bytes_max travels inside the descriptor. overloaded: lends_max leases are in
    // use. permission: the region does not allow this access. too_large: the writer is full. unsupported: the region is
    // far memory that this engine cannot lend. Also the errors of Region::memory_on. If a quota of this side's policy
    // does not allow the target that much lent memory, lend() succeeds, and the call ends with `overloaded` later.
    // `guests`: for Audience::guests.
    [[nodiscard]] Errc lend(const bulk::Region& region, na::Access access, ByteWriter& writer,
                            Audience audience = Audience::target,
                            const std::shared_ptr<const na::Guests>& guests = nullptr) noexcept;
    [[nodiscard]] std::size_t lend_bytes(const bulk::Region& region, na::Access access,
                                         Audience audience = Audience::target) const noexcept;
    // Forwards memory that the origin of a request has lent to this process: writes the memory's descriptor, bound to
    // the owner of the memory. The memory stays lent until the owner's call has completed; this call does not prolong
    // that time. If this call ends early, its completion waits until its target no longer uses the memory. Errors: as
    // bulk::forward.
    [[nodiscard]] Errc forward_memory(const bulk::RemoteRegion& remote, ByteWriter& writer) noexcept;

    // Declares that the arguments contain a handle, which cannot be revoked, through which the target reaches memory of
    // this side. The call is therefore sent only to a peer of the same user, and otherwise ends with `unsupported`. If
    // the call ends early, its completion waits until the target no longer uses the memory or the connection has ended.
    void shows_memory() noexcept { whole_way_ = whole_.shows_memory = true; }

    // Claims a place that the target has reserved for this call in the target's own queue; the handler finds the place
    // in Request::place (hl/admission.hpp). Only for targets that gave out a place: others may not support places.
    void claim_place(std::uint64_t place) noexcept {
        whole_way_ = true;
        whole_.place = place;
    }

    // Sends the call. ok: `done` will run exactly once, from trigger(). Any other result: nothing was sent, `done` does
    // not run, and the call can be released: closed (draining), overloaded (queues full), invalid_argument.
    // The call may later fail with: timed_out, canceled, refused, unreachable, peer_lost, overloaded, no_such_rpc,
    // bad_signature, protocol, too_large, permission, shutting_down, handler_failed, application, bad_address.
    [[nodiscard]] Errc forward(std::size_t input_bytes, CallDone done, void* user) noexcept;

    // Asks to end the call early: the target's handler is told, and the call completes once, with `canceled` or with
    // the result that it would have had anyway. Any thread, until the call is released; after that use
    // Context::cancel(), which checks the id.
    void cancel() noexcept;
    // As cancel(), but the next progress() carries the cancel out: this function never takes ownership of the context,
    // and so runs no other work that waits for the owner. For callers that hold a lock that completions need.
    void cancel_soon() noexcept;

    // --- after the completion
    [[nodiscard]] Errc result() const noexcept { return use_.result; }
    // When the result was decided: the start of that progress round, on the context's clock.
    [[nodiscard]] TimeUs ended_us() const noexcept { return ended_us_; }
    // The result that the handler returned; valid until release. app_code and app_text explain errors. `application`:
    // both come from the handler. `permission`: app_text names the rule of the target's policy that refused the call.
    // `overloaded`, `too_large`: if a quota refused the call, app_text names the quota and the caller; the quota is the
    // target's, or this side's if the call was not sent. If no connection was made, app_text is na::Peer::lost_because
    // of the target, or empty if the reason is not known.
    [[nodiscard]] ConstBytes output() const noexcept { return use_.output; }
    [[nodiscard]] std::uint16_t output_shape() const noexcept { return use_.output_shape; }
    [[nodiscard]] std::uint32_t app_code() const noexcept { return whole_.app_code; }
    [[nodiscard]] std::string_view app_text() const noexcept { return whole_.app_text; }
    // False if the peer may still access memory that the call lent (quarantine).
    [[nodiscard]] bool fenced() const noexcept { return !whole_.fence_failed; }

    // False: the request never left this side, so the target cannot know of the call.
    [[nodiscard]] bool was_sent() const noexcept {
        return (use_.was_sent && !whole_.never_left) || whole_.may_have_left;
    }
    // The number of bytes that the call lends. Call it before forward().
    [[nodiscard]] std::uint64_t lent_bytes() const noexcept;

    // Where the call was when it ended with `timed_out`, `canceled`, `peer_lost` or `overloaded`.
    [[nodiscard]] CallWaits waits() const noexcept;
    // Gets the times of an answered call with CallArgs::timed, except CallTimes::told. False: the answer does not
    // contain the target's times.
    [[nodiscard]] bool times(CallTimes& out) const noexcept {
        if (!has_times()) return false;
        out.made = began_us;
        out.left = left_us();
        out.answered = ended_us_;
        out.connecting_us = detail::lower_time(queued_us_);
        out.for_credit_us = detail::upper_time(queued_us_);
        out.there_us = detail::upper_time(sent_us_);
        out.waited_us = for_credit_us_;
        out.transfers_us = detail::lower_time(noted_opened_us_);
        out.handled_us = in_handler_us_ + out.transfers_us;
        return true;
    }
    // Does the same as times() followed by parts_of() with `told`, in fewer instructions. False: call times() and
    // parts_of() instead. Requires: result() is ok, and CallArgs::timed.
    [[nodiscard]] bool usual_parts(TimeUs told, UsualParts& out) const noexcept {
        const TimeUs for_caller = told - ended_us_;
        if (times_ != Times::usual || (for_caller >> usual_time_bits) != 0) [[unlikely]]
            return false;
        out = {sent_us_, detail::two_times(in_handler_us_, for_credit_us_), noted_opened_us_, for_caller};
        return true;
    }
    // The scheme of the transport that the call uses; static storage.
    [[nodiscard]] std::string_view scheme() const noexcept;

    // Releases the slot. If the call is in flight, cancels the call; `done` will not run. Any thread.
    void release() noexcept;

    [[nodiscard]] CallId id() const noexcept { return id_of(generation_.load(std::memory_order_relaxed), slot_index); }
    [[nodiscard]] Context& context() const noexcept;
    [[nodiscard]] const na::Addr& peer() const noexcept { return to_; }

  private:
    [[nodiscard]] ConstBytes home_for(Audience audience) const noexcept;
    friend class Access;
    friend class CallFences;
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
    // Which side may free the slot: before forward() and after delivery (`outside`) the caller, in between the context.
    enum class Phase : std::uint8_t { outside, in_flight, abandoned };
    // The state of the times of a call with args.timed. When the call is sent: `asked`, or `asked_late` if it was
    // queued first. When times have come with the answer: `usual` if they fit UsualParts, otherwise `unusual`.
    enum class Times : std::uint8_t { none, asked, asked_late, usual, unusual };

    // The state of the present use of the slot; reset for the next use.
    struct Use {
        ConstBytes output;
        State state = State::idle;
        Errc result = Errc::ok;
        std::uint16_t output_shape = 0;
        bool was_sent = false;        // the target may know of it
        bool completed = false;       // the completion is queued or delivered
        bool nothing_left = false;    // when completed, it held nothing but its message: any thread may free the slot
        bool canceled_early = false;  // canceled before it was submitted
    };
    // The same for the slow path; reset only after a use that took the slow path.
    struct WholeWay {
        std::uint64_t place = 0;  // 0: none
        std::string_view app_text;
        std::uint32_t app_code = 0;
        std::uint32_t fences = 0;       // revocations in progress
        bool awaiting_release = false;  // the target was asked to release lent memory and may still use it
        bool fence_failed = false;
        bool forwards = false;       // has forwarded memory of another owner
        bool shows_memory = false;   // has a handle to memory
        bool large = false;          // its arguments do not fit a message
        bool never_left = false;     // the request waited for a dial that failed
        bool may_have_left = false;  // sending failed, and the request may or may not have reached the target
    };

    [[nodiscard]] static CallId id_of(std::uint64_t generation, std::uint32_t slot) noexcept {
        return generation << call_slot_bits | slot;
    }
    // Counts the uses of the slot.
    [[nodiscard]] std::uint32_t uses() const noexcept {
        return static_cast<std::uint32_t>(generation_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] bool was_queued() const noexcept { return queued_use_ == uses(); }
    // Checks was_sent, because times_ of a call that was not sent may be left from an earlier call in the slot.
    [[nodiscard]] bool has_times() const noexcept { return args.timed && use_.was_sent && times_ >= Times::usual; }
    // When it was sent. Requires: has_times().
    [[nodiscard]] TimeUs left_us() const noexcept {
        return began_us + detail::lower_time(queued_us_) + detail::upper_time(queued_us_) +
               detail::lower_time(sent_us_);
    }
    // Call when all parts of the call's time until `ended` are recorded. No part is longer than the whole, so the limit
    // is checked for the whole alone.
    void times_came(TimeUs ended) noexcept {
        const bool usual = queued_us_ == 0 && ((ended - began_us) >> usual_time_bits) == 0;
        times_ = usual ? Times::usual : Times::unusual;
    }
    [[gnu::cold]] void way_back_until(TimeUs ended) noexcept;
    [[nodiscard]] bool holds_message_only() const noexcept { return !whole_way_ || nothing_beside_message(); }
    [[nodiscard]] bool nothing_beside_message() const noexcept {
        return op_.state == na::OpState::idle && !pull_ && !lends_ && !reply_ && !reply_copy_ && !large_input_ &&
               !large_output_;
    }
    [[nodiscard]] bool is_sent() const noexcept { return use_.state == State::sent || use_.state == State::pulling; }
    [[gnu::noinline]] void release_whole_way() noexcept;
    // False: a cancel is queued already.
    [[nodiscard]] bool prepare_cancel(std::uint64_t generation) noexcept;

    // Fields of the fast path (the "short way"), in four cache lines.
    ContextCore* core_ = nullptr;
    na::Message* message_ = nullptr;
    na::Addr to_;
    na::Port* port_ = nullptr;
    PeerBook* book_ = nullptr;
    CallDone done_ = nullptr;
    void* user_ = nullptr;
    std::atomic<std::uint64_t> generation_{1};
    WorkItem work_;  // to submit the call, then to complete it, then to release it
    Use use_;
    TimeUs ended_us_ = 0;
    std::atomic<std::uint64_t> cancel_generation_{0};  // which generation cancel_work_ is queued for; 0: none
    std::uint32_t input_bytes_ = 0;
    std::uint32_t connection_ = 0;  // PeerBook::connection when the request was posted
    ListLink<Call> link_;           // in PeerBook::queued
    ListLink<Call> deadline_link_;  // in Deadlines; a call that is not linked there may have armed timer_
    std::atomic<Phase> phase_{Phase::outside};
    bool whole_way_ = false;  // uses, or has used, the slow path (the "whole way")
    bool free_after_cancel_ = false;
    Times times_ = Times::none;    // may be that of an earlier use of the slot
    bool free_when_over_ = false;  // released, but the transport still holds the message

    // When the call was queued; valid if queued_use_ is uses(). If has_times(), these 64 bits hold two parts of the
    // call's time instead: `connecting` in the lower half and `for_credit` in the upper half. sent_us_, for_credit_us_,
    // in_handler_us_ and noted_opened_us_ then hold the later parts, except for_caller. Fields of their own would
    // lengthen the call by a cache line.
    TimeUs queued_us_ = 0;
    WorkItem cancel_work_;  // queued while cancel_generation_ is not 0

    // Fields of the slow path: idle and empty while whole_way_ is false.
    WholeWay whole_;
    RpcLend* lends_ = nullptr;  // a list, linked by RpcLend::next
    na::Op op_;                 // the request
    WheelTimer timer_;          // for the deadline, then for the grace period of the fence
    na::Kept reply_;
    std::unique_ptr<std::byte[]> reply_copy_;  // a copy of the reply in place of reply_, when too many replies are kept
    std::uint32_t reply_copy_bytes_ = 0;
    // Placed here to fill a gap. noted_ahead_ and noted_phase_ are valid only if noted_use_ is uses(); queued_for_ is
    // valid only if queued_use_ is uses().
    std::uint16_t noted_ahead_ = 0;
    CallPhase noted_phase_ = CallPhase::unknown;
    CallPhase queued_for_ = CallPhase::unknown;
    bulk::Region large_input_;
    bulk::Region large_output_;
    bulk::RemoteRegion remote_output_;
    bulk::Transfer* pull_ = nullptr;
    StallWatch watch_;

    // When the call was sent; set if args.timed, or if the call was queued first. If has_times(): the parts `queued`
    // and `wire_there`.
    TimeUs sent_us_ = 0;
    // How long the call waited for a credit; set if args.timed and the call was queued first. If has_times(): the part
    // `for_handler`.
    std::uint32_t for_credit_us_ = 0;
    std::uint32_t in_handler_us_ = 0;  // if has_times(): the part `in_handler`
    // When the call's connection was made; time_never: it had none. Valid only if noted_use_ is uses(). If has_times():
    // the parts `in_transfers` and `wire_back`.
    TimeUs noted_opened_us_ = 0;

    // queued_use_ is the value of uses() when a call in this slot was last queued, noted_use_ when a call in this slot
    // last ended early. Fields about these two events are recorded only then, so that other calls do not pay for them.
    // If queued_use_ (or noted_use_) is not uses(), the fields about that event are left from an earlier use of the
    // slot.
    std::uint32_t queued_use_ = 0;
    std::uint32_t noted_use_ = 0;
};

}  // namespace cinnabar::rpc
