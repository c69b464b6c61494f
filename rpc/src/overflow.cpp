// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results that do not fit a message go by bulk: the receiver pulls them from memory that the sender
// keeps leased. One byte budget per context counts all such buffers, and another what arguments are decoded to.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cinnabar::rpc {

Errc ContextCore::reserve_overflow(std::uint64_t bytes, PeerBook* peer) noexcept {
    if (bytes > options.argument_bytes_max) return Errc::too_large;
    return overflow_budget.take(bytes, peer ? &peer->overflow_bytes : nullptr) ? Errc::ok : Errc::overloaded;
}

void ContextCore::return_overflow(std::uint64_t bytes, PeerBook* peer) noexcept {
    overflow_budget.give_back(bytes, peer ? &peer->overflow_bytes : nullptr);
}

Errc ContextCore::allocate_overflow(std::uint64_t bytes, bulk::Region& region, PeerBook* peer) noexcept {
    if (const Errc over = reserve_overflow(bytes, peer); over != Errc::ok) return over;
    auto made = overflow_pool.take(bytes);
    if (!made) {
        return_overflow(bytes, peer);
        return made.code();
    }
    region = *std::move(made);
    return Errc::ok;
}

void ContextCore::drop_overflow(bulk::Region& region, PeerBook* peer) noexcept {
    if (!region) return;
    return_overflow(region.bytes(), peer);
    overflow_pool.give(std::exchange(region, {}));
}

Errc Call::grow_input(std::size_t bytes, Bytes& room) noexcept {
    CINNABAR_ASSERT(state_ == State::made && !large_input_);
    whole_way_ = true;
    const Errc made = core_->allocate_overflow(bytes, large_input_, nullptr);
    if (made == Errc::ok) room = large_input_.contiguous();
    return made;
}

Errc Request::charge_memory(std::uint64_t bytes) noexcept {
    if (arriving_) outlive_arrival();
    SharedBudget& budget = core_->decoded_budget;
    if (bytes > budget.part_max() - std::min(budget.part_max(), decoded_bytes_)) return Errc::too_large;
    if (!budget.take(bytes, &book_->decoded_bytes)) return Errc::overloaded;
    go_whole_way();
    decoded_bytes_ += bytes;
    return Errc::ok;
}

Errc Request::grow_output(std::size_t bytes, Bytes& room) noexcept {
    CINNABAR_ASSERT(!answered() && !large_output_);
    if (arriving_) outlive_arrival();
    go_whole_way();
    const Errc made = core_->allocate_overflow(bytes, large_output_, book_);
    if (made == Errc::ok) room = large_output_.contiguous();
    return made;
}

// The encoded arguments are already in the message, but the peer takes smaller ones than this side.
Errc ContextCore::move_to_overflow(Call& call) noexcept {
    call.whole_way_ = true;
    const Errc made = allocate_overflow(call.input_bytes_, call.large_input_, nullptr);
    if (made != Errc::ok) return made;
    call.large_input_.copy_in(0, call.input_room().first(call.input_bytes_));
    const std::uint32_t before = call.input_bytes_;
    const Errc lent = lend_overflow(call);
    if (lent == Errc::ok && call.link_.linked && call.state_ == Call::State::queued) {
        queued_bytes = queued_bytes - before + call.input_bytes_;
    }
    return lent;
}

// Puts the descriptor of the large arguments where the arguments would have been.
Errc ContextCore::lend_overflow(Call& call) noexcept {
    RpcLend* lend = fences.acquire();
    if (!lend) return Errc::overloaded;
    const bulk::Region window = call.large_input_.slice(0, call.input_bytes_);
    if (const Errc failed = lend->grant(window, na::Access::read, transport_of(*call.port_)); failed != Errc::ok) {
        fences.release(*lend);
        return failed;
    }
    lend->next = call.lends_;
    call.lends_ = lend;
    Writer writer(call.input_room());
    na::Lease* const lease = &lend->lease();
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    if (!writer.ok()) return Errc::too_large;
    call.overflow_ = true;
    call.input_bytes_ = static_cast<std::uint32_t>(writer.size());
    return Errc::ok;
}

// A target claims what it may never send: one result, and more as far as that leaves as much free for others.
bool ContextCore::may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept {
    const std::uint64_t all = overflow_budget.taken() + bytes;
    if (book.claimed_bytes == 0 || all > overflow_budget.bytes_max()) return true;  // the budget decides
    return book.claimed_bytes + bytes <= overflow_budget.bytes_max() - all;
}

void ContextCore::pull_output(Call& call, ConstBytes descriptor) noexcept {
    call.whole_way_ = true;
    Reader reader(descriptor);
    Errc failed = bulk::RemoteRegion::decode(reader, call.remote_output_);
    if (failed == Errc::ok && !may_claim(*call.book_, call.remote_output_.bytes())) failed = Errc::overloaded;
    if (failed == Errc::ok) failed = allocate_overflow(call.remote_output_.bytes(), call.large_output_, nullptr);
    if (failed == Errc::ok) {
        call.book_->claimed_bytes += call.large_output_.bytes();
        bulk::TransferArgs args;
        args.remote = &call.remote_output_;
        args.local = call.large_output_;
        args.bytes = call.large_output_.bytes();
        args.peer = call.to_;
        args.connected = call.book_->peer;
        args.deadline = call.args.deadline;
        call.pull_ = mover->start(
            args,
            [](bulk::Transfer&, void* user) noexcept {
                Call& pulled = *static_cast<Call*>(user);
                pulled.core_->output_pulled(pulled);
            },
            &call, bulk::Deliver::internal, nullptr, failed);
    }
    if (!call.pull_) {
        if (call.large_output_) call.book_->claimed_bytes -= call.large_output_.bytes();
        send_control(*call.book_, {ControlType::fetched, 0, call.id()});
        return finish(call, failed);
    }
    call.state_ = Call::State::pulling;
    watch_pull(call);
    if (!call.book_->strict) settle_reply(*call.book_);
}

void ContextCore::output_pulled(Call& call) noexcept {
    const Errc result = call.pull_->result();
    mover->release(*std::exchange(call.pull_, nullptr));
    call.book_->claimed_bytes -= call.large_output_.bytes();
    if (call.book_->open) send_control(*call.book_, {ControlType::fetched, 0, call.id()});
    if (call.state_ == Call::State::ended) return complete_if_over(call);
    call.output_ = call.large_output_.contiguous();
    // A result that was taken back: the target lost this side, or is closing, and we do not know it yet.
    finish(call, result == Errc::permission ? Errc::peer_lost : result);
}

void ContextCore::pull_input(Request& request, ConstBytes descriptor) noexcept {
    request.go_whole_way();
    Reader reader(descriptor);
    Errc failed = bulk::RemoteRegion::decode(reader, request.remote_input_);
    const std::uint64_t bytes = request.remote_input_.bytes();
    PeerBook& book = *request.book_;
    if (failed == Errc::ok) failed = allocate_overflow(bytes, request.large_input_, &book);
    if (failed == Errc::ok) {
        bulk::TransferArgs args;
        args.remote = &request.remote_input_;
        args.local = request.large_input_;
        args.bytes = bytes;
        args.peer = request.source_;
        args.connected = book.peer;
        args.deadline = request.deadline_;
        request.pull_ = mover->start(
            args,
            [](bulk::Transfer&, void* user) noexcept {
                Request& pulled = *static_cast<Request*>(user);
                pulled.core_->input_pulled(pulled);
            },
            &request, bulk::Deliver::internal, nullptr, failed);
    }
    if (request.pull_) return watch_pull(request);
    release_arguments(request);
    answer_now(request, failed);
}

// No reply will tell the origin of a one-way call that its large arguments are not read any more.
void ContextCore::release_arguments(Request& request) noexcept {
    if (request.one_way_) send_control(*request.book_, {ControlType::released, 0, request.tag_});
}

void ContextCore::drop_arguments(Request& request) noexcept { drop_overflow(request.large_input_, request.book_); }

void ContextCore::input_pulled(Request& request) noexcept {
    const Errc result = request.pull_->result();
    mover->release(*std::exchange(request.pull_, nullptr));
    na->disarm(request.timer_);
    release_arguments(request);
    if (result != Errc::ok) return answer_now(request, request.stalled_ ? Errc::timed_out : result);
    return_slot(request);  // only the descriptor was in it
    request.input_ = request.large_input_.contiguous();
    start(request);
}

// Puts the descriptor of a large result into the reply, and keeps the result until the origin has it.
Errc ContextCore::lend_result(Request& request) noexcept {
    RpcLend* lend = fences.acquire();
    if (!lend) return Errc::overloaded;
    const bulk::Region window = request.large_output_.slice(0, request.output_bytes_);
    if (const Errc failed = lend->grant(window, na::Access::read, transport_of(*request.port_)); failed != Errc::ok) {
        fences.release(*lend);
        return failed;
    }
    Writer writer(request.message_->bytes().subspan(reply_header_bytes));
    na::Lease* const lease = &lend->lease();
    bulk::describe({{&lease, 1}, {}, {}}, writer);
    request.output_bytes_ = static_cast<std::uint32_t>(writer.size());
    request.lend_ = lend;
    result_lent(request);
    request.timer_.user = &request;
    request.timer_.fire = [](Timer& timer) noexcept {
        Request& kept = *static_cast<Request*>(timer.user);
        kept.core_->result_released(kept);
    };
    keep_result(request);
    return Errc::ok;
}

// A peer that leaves too many results unfetched gets no more credits: further requests would only cost handlers and
// memory. A single result may have any size.
void ContextCore::result_lent(Request& request) noexcept {
    PeerBook& book = *request.book_;
    if (book.unfetched_bytes > options.unfetched_bytes_max) book.account.withhold(true);
    book.unfetched_bytes += request.large_output_.bytes();
}

void ContextCore::result_over(Request& request) noexcept {
    PeerBook& book = *request.book_;
    book.unfetched_bytes -= request.large_output_.bytes();
    if (closed_ || !book.account.withheld() || book.unfetched_bytes > options.unfetched_bytes_max) return;
    book.account.withhold(false);
    na->disarm(book.account.starved);  // may still be armed
    watch_starving(book);
}

// From now on: once when the reply is posted, and again when it has left. The origin gives up at the deadline, but what
// it reads may still be on its way: it tells when that is over.
void ContextCore::keep_result(Request& request) noexcept {
    const TimeUs by_deadline = after(request.deadline_, options.fence_grace);
    const std::uint64_t rate = std::max<std::uint64_t>(options.pull_rate_min, 1);
    const Microseconds slowest(static_cast<std::int64_t>(request.large_output_.bytes() * 1'000'000 / rate));
    const TimeUs longest = after(after(na->now_us(), options.result_kept_max), slowest);
    na->disarm(request.timer_);
    na->arm(request.timer_, std::min(by_deadline, longest));
}

void ContextCore::result_released(Request& request) noexcept {
    RpcLend* const lend = request.lend_;
    if (!lend || lend->fencing) return;
    na->disarm(request.timer_);
    if (!request.reply_posted_ && !request.reply_done_) {
        // The reply still waits for room, and now has nothing to tell.
        request.answer_ = Errc::timed_out;
        request.output_bytes_ = 0;
        request.output_shape_ = 0;
    }
    const auto ended = [](void* holder, bool) noexcept {
        Request& answered = *static_cast<Request*>(holder);
        answered.lend_ = nullptr;
        answered.core_->result_over(answered);
        answered.core_->free_request_if_over(answered);
    };
    PeerBook* const knows = request.orphaned_ ? nullptr : request.book_;
    if (fences.take_back(*lend, knows, request.book_->connection, &request, ended)) ended(&request, true);
}

}  // namespace cinnabar::rpc
