// SPDX-License-Identifier: BSD-3-Clause
// The life of a call as its caller sees it: made, filled, forwarded, released. A cancel is only handed to the owner of
// the context here; finish.cpp carries it out.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>

#include <algorithm>
#include <cstring>

namespace cinnabar::rpc {

// Fifteen cache lines. With many calls in flight, each further line costs a cache miss.
static_assert(sizeof(Call) <= 960);

// The attribute must be repeated here (see na/src/context.cpp).
[[gnu::tls_model("initial-exec")]] constinit thread_local SpareSlot<Call> spare_call;

void Origin::renew_whole_way(Call& call) noexcept {
    call.whole_ = {};
    call.whole_way_ = false;
}

Origin::Origin(ContextCore& core, ThreadUse threads, std::uint32_t calls_max, std::uint32_t messages_retained) noexcept
    : calls(threads, calls_max), core_(core), messages_retained_(messages_retained) {}

// Resets the call for its next use, without freeing its slot.
[[gnu::always_inline]] inline void Origin::renew(Call& call) noexcept {
    if (call.whole_way_) [[unlikely]]
        renew_whole_way(call);
    call.use_ = {};
    call.began_us = 0;
    call.generation_.store(call.generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    call.phase_.store(Call::Phase::outside, std::memory_order_relaxed);
}

// Any thread. Requires: the call holds nothing but its message.
[[gnu::always_inline]] inline void Origin::reuse(Call& call) noexcept {
    renew(call);
    spare_call.release(calls, call);
}

// Reuses the slot that this thread has just released, if its last call was to the same peer, because such a slot needs
// no set-up. forward() checks whether the context still accepts calls.
Call* Context::make_call(const na::Addr& to, Errc& why) noexcept {
    ContextCore& core = *core_;
    Call* const spare = spare_call.slot;
    const bool same = spare && spare_call.pool == &core.origin.calls && spare->message_ && spare->to_ == to;
    if (!same) [[unlikely]]
        return core.origin.make(to, why);
    spare_call.slot = nullptr;
    why = Errc::ok;
    spare->args = {};
    spare->use_.state = Call::State::made;
    return spare;
}

[[gnu::always_inline]] inline Call* Origin::take(const na::Addr& to, Errc& why) noexcept {
    why = Errc::unreachable;
    na::Port* const port = core_.only_port ? core_.only_port : core_.na->route(to);
    if (!port || to.empty()) return nullptr;
    why = Errc::overloaded;
    Call* call = spare_call.acquire(calls);
    if (!call) return nullptr;
    if (call->message_ && call->message_->port != port)
        call->message_->port->give_message(*std::exchange(call->message_, nullptr));
    if (!call->message_) call->message_ = port->take_message();
    if (!call->message_) {
        calls.release(*call);
        return nullptr;
    }
    why = Errc::ok;
    if (!call->core_) {  // only once: a late cancel of the slot's last call may be reading it
        call->core_ = &core_;
        call->timer_.user = call->work_.user = call;
    }
    if (call->to_ != to) call->to_ = to;
    call->port_ = port;
    call->args = {};
    call->use_.state = Call::State::made;
    return call;
}

Call* Origin::make(const na::Addr& to, Errc& why) noexcept {
    why = Errc::closed;
    if (core_.closing_ || core_.engine.draining()) return nullptr;
    return take(to, why);
}

Call* Origin::make_for_call_in_progress(const na::Addr& to, Errc& why) noexcept {
    why = Errc::closed;
    return core_.closing_ ? nullptr : take(to, why);
}

Call* Context::make_call_in_place_of(Call& over, const na::Addr& to, Errc& why) noexcept {
    ContextCore& core = *core_;
    CINNABAR_ASSERT(over.core_ == &core && over.phase_.load(std::memory_order_relaxed) == Call::Phase::outside);
    if (!over.use_.nothing_left || over.cancel_generation_.load() != 0 || over.to_ != to) {
        over.release();
        return make_call(to, why);
    }
    core.origin.renew(over);
    why = Errc::ok;
    over.args = {};
    over.use_.state = Call::State::made;
    return &over;
}

Context& Call::context() const noexcept { return *core_->facade; }

Bytes Call::input_room() const noexcept {
    const Bytes room = message_->bytes().subspan(request_header_bytes);
    return room.first(room.size() - behind_payload_max);
}

Errc Call::grow_input(std::size_t bytes, Bytes& room) noexcept {
    CINNABAR_ASSERT(use_.state == State::made && !large_input_);
    whole_way_ = true;
    const Errc made = core_->large_memory.allocate(bytes, large_input_, {});
    if (made == Errc::ok) room = large_input_.contiguous();
    return made;
}

Errc Call::forward(std::size_t input_bytes, CallDone done, void* user) noexcept {
    CINNABAR_ASSERT(use_.state == State::made);
    const std::size_t room = whole_way_ && large_input_ ? large_input_.bytes() : input_room().size();
    if (input_bytes > room || !done) return Errc::invalid_argument;
    if (core_->closing_ || (core_->engine.draining() && args.rpc != far_move_id)) return Errc::closed;
    input_bytes_ = static_cast<std::uint32_t>(input_bytes);
    done_ = done;
    user_ = user;
    phase_.store(Phase::in_flight, std::memory_order_release);
    work_.run = bind<&Origin::submit>;
    core_->run_owned(work_);
    return Errc::ok;
}

// Records that the call of `generation` is to be canceled. If the slot has another call when the owner carries out the
// cancel, nothing happens. Replaces a cancel that is queued for an earlier generation.
bool Call::prepare_cancel(std::uint64_t generation) noexcept {
    std::uint64_t queued = cancel_generation_.load(std::memory_order_relaxed);
    do {
        if (queued >= generation) return false;
    } while (!cancel_generation_.compare_exchange_weak(queued, generation));
    if (queued != 0) return false;
    cancel_work_.user = this;
    cancel_work_.run = bind<&Origin::cancel_requested>;
    return true;
}

void Call::cancel() noexcept {
    if (prepare_cancel(generation_.load(std::memory_order_relaxed))) core_->run_owned(cancel_work_);
}

void Call::cancel_soon() noexcept {
    if (prepare_cancel(generation_.load(std::memory_order_relaxed))) core_->na->submit(cancel_work_);
}

void Context::cancel(CallId id) noexcept {
    Call* call = core_->origin.calls.at(static_cast<std::uint32_t>(id & ((1u << call_slot_bits) - 1)));
    if (!call || !call->core_) return;  // no call with that id was ever made
    const std::uint64_t generation = call->generation_.load(std::memory_order_acquire);
    if (Call::id_of(generation, call->slot_index) != id) return;
    CINNABAR_TEST_YIELD("call: found by its id");
    if (call->prepare_cancel(generation)) core_->run_owned(call->cancel_work_);
}

void Call::release() noexcept {
    const bool delivered = phase_.load(std::memory_order_acquire) == Phase::outside;
    if (delivered && use_.nothing_left && cancel_generation_.load() == 0 && !core_->closed_) {
        CINNABAR_TEST_YIELD("call: about to be reused");
        return core_->origin.reuse(*this);
    }
    release_whole_way();
}

void Call::release_whole_way() noexcept {
    // If the call is in flight, another thread may be about to deliver it.
    Phase before = phase_.load(std::memory_order_acquire);
    if (before == Phase::in_flight) before = phase_.exchange(Phase::abandoned);
    CINNABAR_ASSERT(before != Phase::abandoned);
    if (before == Phase::in_flight) return cancel();  // deliver() frees it
    phase_.store(Phase::abandoned, std::memory_order_relaxed);
    work_.run = bind<&Origin::free>;
    core_->run_owned(work_);
}

void Origin::free(Call& call) noexcept {
    if (call.cancel_generation_.load() != 0) {
        call.free_after_cancel_ = true;
        return;
    }
    if (call.op_.state != na::OpState::idle || call.pull_) {
        call.free_when_over_ = true;
        return;
    }
    call.free_after_cancel_ = call.free_when_over_ = false;
    while (RpcLend* lend = call.lends_) {  // the call was never forwarded
        call.lends_ = lend->next;
        lend->next = nullptr;
        (void)core_.fences.take_back(*lend, nullptr, 0, nullptr, nullptr);
    }
    core_.replies.release(call);
    if (call.message_ && call.slot_index >= messages_retained_) {
        call.port_->give_message(*std::exchange(call.message_, nullptr));
    }
    core_.large_memory.drop(call.large_input_, {});
    core_.large_memory.drop(call.large_output_, {});
    reuse(call);
    core_.go_if_over();
}

}  // namespace cinnabar::rpc
