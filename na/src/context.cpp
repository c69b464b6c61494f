// SPDX-License-Identifier: BSD-3-Clause
// Ownership, posting, and the completion queue.
#include "context_impl.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::na {
namespace {

Op& op_of(WorkItem& work) {
    // `work` is the first member of Op.
    return reinterpret_cast<Op&>(work);
}

constexpr unsigned handed_over_max = 64;
[[gnu::tls_model("initial-exec")]] thread_local const std::atomic<std::uint32_t>* more_to_come = nullptr;

// Whether the transport of the op's peer can do what the op asks for.
Errc check_remote(const Op& op, const Transport& transport) noexcept {
    const Caps& caps = transport.caps();
    const Limits& limits = transport.limits();
    if (is_atomic(op.kind)) {
        if (!caps.atomics) return Errc::unsupported;
        if (op.remote_offset % 8 != 0) return Errc::invalid_argument;
        return op.remote.bytes < 8 || op.remote_offset > op.remote.bytes - 8 ? Errc::invalid_argument : Errc::ok;
    }
    if (op.kind == OpKind::put_notify && !caps.put_notify) return Errc::unsupported;
    if (!op.local || &op.local->transport() != &transport) return Errc::invalid_argument;
    const auto inside = [&op](std::uint64_t offset, std::uint64_t size) {
        return offset <= size && op.bytes <= size - offset;
    };
    if (!inside(op.local_offset, op.local->bytes()) || !inside(op.remote_offset, op.remote.bytes)) {
        return Errc::invalid_argument;
    }
    if (op.bytes > limits.rma_bytes_max) return Errc::too_large;
    if (op.bytes > 0 && limits.op_segments_max < op.local->segments().size()) {
        const std::size_t first = op.local->segment_at(op.local_offset);
        const std::size_t last = op.local->segment_at(op.local_offset + op.bytes - 1);
        if (last - first + 1 > limits.op_segments_max) return Errc::too_large;
    }
    return Errc::ok;
}

Errc check_message(const Op& op) noexcept {
    if (!op.message || op.message->port != &op.peer->port()) return Errc::invalid_argument;
    if (op.message_bytes > op.message->payload_bytes_max) return Errc::invalid_argument;
    return op.message_bytes > op.peer->message_bytes_max() ? Errc::too_large : Errc::ok;
}

}  // namespace

static_assert(offsetof(Op, work) == 0);

// The attribute must be repeated here: without it, the compiler reaches the variable by a function call.
[[gnu::tls_model("initial-exec")]] constinit thread_local CallingUser calling_user;

void Context::Impl::give_up() noexcept {
    if (options_.threads == ThreadUse::one) return;
    flush_or_gather();
    let_go();
}

// Inside trigger(), messages that its callbacks post are collected and sent together.
void Context::Impl::flush_or_gather() noexcept {
    if (calling_user.context != this || ++calling_user.unsent >= handed_over_max) flush();
}

void Context::Impl::let_go() noexcept {
    if (options_.threads == ThreadUse::one) return;
    for (;;) {
        completions_.publish();
        ring_sleeper_if_needed();
        ownership_.unlock();
        // A thread that pushed work but could not own the context relies on another thread to look at the queue
        // afterwards: this thread, or a thread that owns the context by now or waits for it.
        if (submitted_.empty() || !try_own()) return;
        refresh_now();
        (void)run_submitted();
        flush_or_gather();
    }
}

void Context::Impl::flush() noexcept {
    if (closed_) return;
    for (const auto& port : ports_) port->flush();
    if (calling_user.context == this) calling_user.unsent = 0;
}

// If another thread owns the context, that thread runs the handed-over work before it gives up the context.
void Context::Impl::run_handed_over() noexcept {
    calling_user.handed_over = 0;
    if (!try_own()) return;
    refresh_now();
    (void)run_submitted();
    calling_user.unsent = handed_over_max;  // makes give_up() flush
    give_up();
}

Errc Context::Impl::post_owned(Op& op) noexcept {
    if (closed_) return Errc::closed;
    CINNABAR_ASSERT(op.state != OpState::posted && op.complete && op.peer);
    const Errc wrong = is_message(op.kind) ? check_message(op) : check_remote(op, transport_of(op.peer->port()));
    if (wrong != Errc::ok) return wrong;
    op.state = OpState::posted;
    op.cancel_asked = false;
    op.result = Errc::ok;
    op.peer->acquire();
    ++ops_posted_;
    const Errc taken = op.peer->port().post(op);
    if (taken != Errc::ok) {
        --ops_posted_;
        op.state = OpState::idle;
        op.peer->release();
    }
    return taken;
}

void Context::Impl::post_handed_over(Op& op) noexcept {
    Errc taken = op.cancel_asked || closed_ ? Errc::canceled : post_owned(op);
    if (taken == Errc::ok) return;
    if (taken == Errc::again) {
        op.state = OpState::handed_over;
        retries_.push_back(op.work);
        return;
    }
    op.state = OpState::idle;
    op.result = taken;
    op.complete(op);
}

void Context::Impl::cancel_owned(Op& op) noexcept {
    if (op.state == OpState::idle || op.cancel_asked) return;
    op.cancel_asked = true;
    if (op.state == OpState::posted) op.peer->port().cancel(op);
}

void Context::Impl::complete(Op& op, Errc result) noexcept {
    CINNABAR_ASSERT(op.state == OpState::posted);
    Peer* peer = op.peer;
    op.state = OpState::idle;
    op.result = result;
    --ops_posted_;
    op.complete(op);
    peer->release();
}

Errc Context::post_owned(Op& op) noexcept { return impl_->post_owned(op); }

Errc Context::post(Op& op) noexcept {
    if (impl_->options_.threads == ThreadUse::one) return impl_->post_owned(op);
    if (impl_->try_own()) {
        impl_->refresh_now();
        const Errc taken = impl_->post_owned(op);
        impl_->give_up();
        return taken;
    }
    // The owner checks the op, because only the owner may read the peer's limits.
    op.state = OpState::handed_over;
    op.cancel_asked = false;
    op.work.run = nullptr;  // marks it as an op for run_submitted()
    impl_->submitted_.push(op.work);
    if (impl_->try_own()) {
        impl_->refresh_now();
        (void)impl_->run_submitted();
        impl_->give_up();
    }
    return Errc::ok;
}

Result<std::unique_ptr<View>> Context::view(Peer& peer, const RemoteMemory& memory, std::uint64_t offset,
                                            std::uint64_t bytes) {
    if (!transport_of(peer.port()).caps().views) {
        return Error(Errc::unsupported, "this transport cannot map a peer's memory: pull it instead");
    }
    if (offset > memory.bytes || bytes > memory.bytes - offset) {
        return Error(Errc::too_large, "the view is not within the memory that was lent");
    }
    return peer.port().view(peer, memory, offset, bytes);
}

Result<std::unique_ptr<DirectMemory>> Context::direct(Peer& peer, const RemoteMemory& memory, std::uint64_t offset,
                                                      std::uint64_t bytes, Access access) {
    if (!transport_of(peer.port()).caps().views) {
        return Error(Errc::unsupported, "this transport cannot map a peer's memory: put and get instead");
    }
    if (offset > memory.bytes || bytes > memory.bytes - offset) {
        return Error(Errc::too_large, "the part is not within the memory that was lent");
    }
    return peer.port().direct(peer, memory, offset, bytes, access);
}

void Context::cancel_owned(Op& op) noexcept { impl_->cancel_owned(op); }

void Context::gather_while(const std::atomic<std::uint32_t>* more) noexcept { more_to_come = more; }

void Context::run_owned(WorkItem& work) noexcept {
    Impl& impl = *impl_;
    if (calling_user.hands_to != &impl) [[unlikely]]
        return impl.run_owned_outside(work);
    if (impl.submitted_.push(work)) [[unlikely]]
        return impl.handed_over_first();
    if (++calling_user.handed_over >= handed_over_max) [[unlikely]]
        impl.run_handed_over();
}

// Wakes a sleeping thread to run the work, in case this callback waits for the result.
void Context::Impl::handed_over_first() noexcept {
    if (sleepers_.any_thread()) sleepers_.ring();
    if (++calling_user.handed_over >= handed_over_max) run_handed_over();
}

// The caller is not inside a callback of this context.
void Context::Impl::run_owned_outside(WorkItem& work) noexcept {
    if (options_.threads == ThreadUse::one) return work.run(work);
    if (more_to_come && more_to_come->load(std::memory_order_relaxed) != 0) return submit(work);
    if (!try_own()) {
        submitted_.push(work);
        if (!try_own()) return;
        refresh_now();
        (void)run_submitted();
    } else {
        refresh_now();
        work.run(work);
    }
    give_up();
}

void Context::submit(WorkItem& work) noexcept { impl_->submit(work); }

void Context::enqueue(WorkItem& work) noexcept { impl_->completions_.add(work); }

TimeUs Context::callback_begins(Exact exact) noexcept {
    const bool known = calling_user.timed == calling_user.ran;
    if (exact == Exact::no) return known ? calling_user.callback_began : impl_->clock_.coarse_us();
    return known && calling_user.exact ? calling_user.callback_began : impl_->clock_.now_us();
}

TimeUs Context::callback_ends(TimeUs exactly) noexcept {
    const bool told = calling_user.timed == calling_user.ran + 1;
    calling_user.timed = calling_user.ran + 1;
    if (exactly != time_never) {
        calling_user.exact = true;
        calling_user.callback_began = exactly;
    } else if (!told) {
        calling_user.exact = false;
        // The coarse time may be behind the exact time at which the callback began.
        calling_user.callback_began = std::max(calling_user.callback_began, impl_->clock_.coarse_us());
    }
    return calling_user.callback_began;
}

unsigned Context::trigger(unsigned count_max) noexcept {
    Impl& impl = *impl_;
    if (impl.owned_here()) return 0;
    const CallingUser outer = std::exchange(calling_user, impl.inside_);
    unsigned count = 0;
    while (count < count_max) {
        WorkItem* const work = impl.completions_.pop();
        if (!work) break;
        calling_user.ran = ++count;
        work->run(*work);
    }
    if (calling_user.handed_over != 0 || calling_user.unsent != 0) impl.run_handed_over();
    calling_user = outer;
    return count;
}

unsigned Context::Impl::run_submitted() noexcept {
    if (retries_.empty() && submitted_.seems_empty()) return 0;
    unsigned count = 0;
    WorkQueue queue;
    std::swap(queue, retries_);
    WorkQueue fresh = submitted_.take_all();
    queue.splice_back(fresh);
    for (WorkItem* work = queue.front(); work; ++count) {
        WorkItem& now = *std::exchange(work, work->next_work);  // when it has run, it may be queued again or be freed
        if (now.run) {
            now.run(now);
        } else {
            post_handed_over(op_of(now));
        }
    }
    return count;
}

Context::Ownership::Ownership(Context& context) noexcept : context_(context), nested_(context.impl_->owned_here()) {
    if (nested_) return;
    context_.impl_->own();
    if (context_.impl_->options_.threads == ThreadUse::many) context_.impl_->refresh_now();
}

Context::Ownership::~Ownership() {
    if (!nested_) context_.impl_->give_up();
}

}  // namespace cinnabar::na
