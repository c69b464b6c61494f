// SPDX-License-Identifier: BSD-3-Clause
// Lends large arguments and results of this side to the peer, pulls large arguments and results of the peer, and keeps
// a lent result until the origin has fetched it or its time is over.
#include "large_values.hpp"

#include "access.hpp"
#include "control.hpp"
#include "credit_pool.hpp"
#include "fences.hpp"
#include "large_memory.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "serving.hpp"
#include "target.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cinnabar::rpc {

Errc LargeValues::grant_to_peer(RpcLend& lend, const bulk::Region& window, const na::Port& port) noexcept {
    lend.audience = Audience::target;
    return lend.grant(window, na::Access::read, base_.transport_of(port), na::LentTo::one_peer);
}

Errc LargeValues::move_input(Call& call) noexcept {
    call.whole_way_ = true;
    const Errc made = parts_.large_memory.allocate(call.input_bytes_, call.large_input_, {});
    if (made != Errc::ok) return made;
    call.large_input_.copy_in(0, call.input_room().first(call.input_bytes_));
    const std::uint32_t before = call.input_bytes_;
    const Errc lent = lend_input(call);
    if (lent == Errc::ok && call.link_.linked && call.use_.state == Call::State::queued)
        parts_.queue.resized(call, before);
    return lent;
}

Errc LargeValues::lend_input(Call& call) noexcept {
    RpcLend* lend = parts_.fences.acquire();
    if (!lend) return Errc::overloaded;
    const bulk::Region window = call.large_input_.slice(0, call.input_bytes_);
    Errc failed = parts_.access.charge(call, *lend, window.bytes());
    if (failed == Errc::ok) failed = grant_to_peer(*lend, window, *call.port_);
    if (failed != Errc::ok) {
        parts_.fences.release(*lend);
        return failed;
    }
    lend->next = call.lends_;
    call.lends_ = lend;
    ByteWriter writer(call.input_room());
    na::Lease* const lease = &lend->lease();
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    if (!writer.ok()) return Errc::too_large;
    call.whole_.large = true;
    call.input_bytes_ = static_cast<std::uint32_t>(writer.size());
    return Errc::ok;
}

void LargeValues::pull_output(Call& call, ConstBytes descriptor) noexcept {
    call.whole_way_ = true;
    ByteReader reader(descriptor);
    Errc failed = bulk::RemoteRegion::decode(reader, call.remote_output_);
    if (failed == Errc::ok && call.remote_output_.bytes() == 0) failed = Errc::protocol;
    if (failed == Errc::ok && !parts_.large_memory.may_claim(*call.book_, call.remote_output_.bytes()))
        failed = Errc::overloaded;
    if (failed == Errc::ok) failed = parts_.large_memory.allocate(call.remote_output_.bytes(), call.large_output_, {});
    if (failed == Errc::ok) {
        call.book_->claimed_bytes += call.large_output_.bytes();
        bulk::TransferArgs args;
        args.remote = &call.remote_output_;
        args.local = call.large_output_;
        args.bytes = call.large_output_.bytes();
        args.peer = call.to_;
        args.connected = call.book_->peer;
        args.deadline = call.args.deadline;
        call.pull_ = base_.mover->start(
            args,
            [](bulk::Transfer&, void* user) noexcept {
                Call& pulled = call_of(user);
                part_of<LargeValues>(pulled).output_pulled(pulled);
            },
            &call, bulk::Deliver::internal, nullptr, failed);
    }
    if (!call.pull_) {
        if (call.large_output_) call.book_->claimed_bytes -= call.large_output_.bytes();
        parts_.control.send(*call.book_, {ControlType::fetched, 0, call.id()});
        return parts_.origin.finish(call, failed);
    }
    call.use_.state = Call::State::pulling;
    watch(call);
    if (!call.book_->strict) parts_.replies.settle(*call.book_);
}

void LargeValues::output_pulled(Call& call) noexcept {
    const Errc result = call.pull_->result();
    base_.mover->release(*std::exchange(call.pull_, nullptr));
    call.book_->claimed_bytes -= call.large_output_.bytes();
    if (call.book_->open) parts_.control.send(*call.book_, {ControlType::fetched, 0, call.id()});
    if (call.use_.state == Call::State::ended) return parts_.origin.complete_if_over(call);
    call.use_.output = call.large_output_.contiguous();
    // `permission` means that the target has revoked the lease: the target has lost the connection or is closing, which
    // this side does not know yet.
    parts_.origin.finish(call, result == Errc::permission ? Errc::peer_lost : result);
}

void LargeValues::pull_input(Request& request, ConstBytes descriptor) noexcept {
    request.go_whole_way();
    ByteReader reader(descriptor);
    Errc failed = bulk::RemoteRegion::decode(reader, request.remote_input_);
    const std::uint64_t bytes = request.remote_input_.bytes();
    PeerBook& book = *request.book_;
    if (failed == Errc::ok) failed = parts_.large_memory.allocate(bytes, request.large_input_, payer_of(request));
    if (failed == Errc::ok) {
        bulk::TransferArgs args;
        args.remote = &request.remote_input_;
        args.local = request.large_input_;
        args.bytes = bytes;
        args.peer = request.source_;
        args.connected = book.peer;
        args.deadline = request.deadline_;
        request.pull_ = base_.mover->start(
            args,
            [](bulk::Transfer&, void* user) noexcept {
                Request& pulled = request_of(user);
                part_of<LargeValues>(pulled).input_pulled(pulled);
            },
            &request, bulk::Deliver::internal, nullptr, failed);
    }
    if (request.pull_) return watch(request);
    parts_.access.tell_refused_bytes(request);
    request.output_bytes_ = Access::explain_refused_bytes(request);
    release_input(request);
    parts_.serving.answer_now(request, failed);
}

void LargeValues::release_input(Request& request) noexcept {
    if (request.one_way_) parts_.control.send(*request.book_, {ControlType::released, 0, request.tag_});
}

void LargeValues::drop_input(Request& request) noexcept {
    parts_.large_memory.drop(request.large_input_, payer_of(request));
}

void LargeValues::input_pulled(Request& request) noexcept {
    const Errc result = request.pull_->result();
    base_.mover->release(*std::exchange(request.pull_, nullptr));
    base_.na->disarm(request.timer_);
    release_input(request);
    if (result != Errc::ok)
        return parts_.serving.answer_now(request, request.whole_.stalled ? Errc::timed_out : result);
    parts_.credits.return_slot(request);  // it held only the descriptor
    request.input_ = request.large_input_.contiguous();
    parts_.target.start(request);
}

Errc LargeValues::lend_result(Request& request) noexcept {
    const bulk::Region window = request.large_output_.slice(0, request.output_bytes_);
    request.output_bytes_ = 0;  // no text, unless a quota refuses below
    RpcLend* lend = parts_.fences.acquire();
    if (!lend) return Errc::overloaded;
    Errc failed = parts_.access.charge(request, *lend, window.bytes());
    if (failed == Errc::ok) failed = grant_to_peer(*lend, window, *request.port_);
    if (failed != Errc::ok) {
        parts_.fences.release(*lend);
        return failed;
    }
    if (!request.use_.orphaned) lend->confine(*request.book_->peer);
    ByteWriter writer(request.message_->bytes().subspan(reply_header_bytes));
    na::Lease* const lease = &lend->lease();
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    request.output_bytes_ = static_cast<std::uint32_t>(writer.size());
    request.lend_ = lend;
    result_lent(request);
    request.timer_.user = &request;
    request.timer_.fire = bind<&LargeValues::result_released>;
    keep_result(request);
    return Errc::ok;
}

// A peer that leaves too many large results unfetched gets no more credits, because further requests would only cost
// handlers and memory. A single result may have any size.
void LargeValues::result_lent(Request& request) noexcept {
    PeerBook& book = *request.book_;
    if (book.unfetched_bytes > base_.options.unfetched_bytes_max) book.account.withhold(true);
    book.unfetched_bytes += request.large_output_.bytes();
}

void LargeValues::result_over(Request& request) noexcept {
    PeerBook& book = *request.book_;
    book.unfetched_bytes -= request.large_output_.bytes();
    if (base_.closed_ || !book.account.withheld() || book.unfetched_bytes > base_.options.unfetched_bytes_max) return;
    book.account.withhold(false);
    base_.na->disarm(book.account.starved);  // may still be armed
    parts_.credits.watch_starving(book);
}

// Starts the time for which the result is kept. Called when the reply is posted, and again when it was sent, which
// starts the time anew. The origin gives up at the deadline, but may still be reading at that time; fence_grace gives
// the origin time to report that it has stopped.
void LargeValues::keep_result(Request& request) noexcept {
    const TimeUs by_deadline = after(request.deadline_, base_.options.fence_grace);
    const std::uint64_t rate = std::max<std::uint64_t>(base_.options.pull_rate_min, 1);
    const Microseconds slowest(static_cast<std::int64_t>(request.large_output_.bytes() * 1'000'000 / rate));
    const TimeUs longest = after(after(base_.na->now_us(), base_.options.result_kept_max), slowest);
    base_.na->disarm(request.timer_);
    base_.na->arm(request.timer_, std::min(by_deadline, longest));
}

void LargeValues::result_released(Request& request) noexcept {
    RpcLend* const lend = request.lend_;
    if (!lend || lend->fencing) return;
    base_.na->disarm(request.timer_);
    if (!request.whole_.reply_posted && !request.use_.reply_done) {
        // The reply still waits for room; it now has no result to report.
        request.answer_ = Errc::timed_out;
        request.output_bytes_ = 0;
        request.output_shape_ = 0;
    }
    const auto ended = [](void* holder, bool) noexcept {
        Request& answered = request_of(holder);
        answered.lend_ = nullptr;
        LargeValues& part = part_of<LargeValues>(answered);
        part.result_over(answered);
        part.parts_.serving.free_if_over(answered);
    };
    PeerBook* const knows = request.use_.orphaned ? nullptr : request.book_;
    if (parts_.fences.take_back(*lend, knows, request.book_->connection, &request, ended)) ended(&request, true);
}

}  // namespace cinnabar::rpc
