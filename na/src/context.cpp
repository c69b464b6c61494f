// SPDX-License-Identifier: BSD-3-Clause
// Ownership, posting, and the completion queue.
#include "context_impl.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <sched.h>

#include <utility>

namespace cinnabar::na {
namespace {

Op& op_of(Work& work) {
    // `work` is the first member of Op.
    return reinterpret_cast<Op&>(work);
}

constexpr unsigned handed_over_max = 64;
[[gnu::tls_model("initial-exec")]] thread_local const std::atomic<std::uint32_t>* more_to_come = nullptr;

class SpinGuard {
  public:
    explicit SpinGuard(std::atomic_flag& flag) noexcept : flag_(flag) {
        if (flag.test_and_set(std::memory_order_acquire)) [[unlikely]]
            wait(flag);
    }
    ~SpinGuard() { flag_.clear(std::memory_order_release); }
    SpinGuard(const SpinGuard&) = delete;
    SpinGuard& operator=(const SpinGuard&) = delete;

  private:
    [[gnu::noinline]] static void wait(std::atomic_flag& flag) noexcept {
        for (unsigned tries = 0; flag.test_and_set(std::memory_order_acquire); ++tries) {
            if (tries > 32) ::sched_yield();
        }
    }
    std::atomic_flag& flag_;
};

}  // namespace

static_assert(offsetof(Op, work) == 0);

// The attribute must be repeated here: without it, the compiler reaches the variable by a function call.
[[gnu::tls_model("initial-exec")]] constinit thread_local CallingUser calling_user;

void Context::Impl::own() noexcept {
    constexpr unsigned looks_first = 32;
    constexpr unsigned looks_before_sleep = 256;
    // The owner may be about to give it up; that is not worth a place in the queue.
    for (unsigned look = 0; look < looks_first; ++look) {
        if (try_own()) return;
    }
    for (;;) {
        if (try_own()) return;
        std::uint32_t seen = ownership_.load(std::memory_order_relaxed);
        if (seen != 0 && ownership_.compare_exchange_strong(seen, seen + one_waiter, std::memory_order_seq_cst,
                                                            std::memory_order_relaxed)) {
            break;
        }
    }
    const std::uint64_t ticket = tickets_.fetch_add(1, std::memory_order_relaxed);
    std::atomic<std::uint32_t>& turns = turns_[ticket % turns_.size()];
    const auto before = static_cast<std::uint32_t>(ticket / turns_.size());
    // Tickets whose numbers differ by a multiple of the array's size share a counter, so it may be several turns
    // behind.
    const auto served = [before](std::uint32_t count) { return static_cast<std::int32_t>(count - before) > 0; };
    std::uint32_t seen = turns.load(std::memory_order_acquire);
    for (unsigned look = 0; !served(seen); ++look, seen = turns.load(std::memory_order_acquire)) {
        if (look >= looks_before_sleep) turns.wait(seen, std::memory_order_acquire);
    }
}

// Gives the ownership to the next waiting thread. The context stays owned meanwhile.
void Context::Impl::hand_over() noexcept {
    ownership_.fetch_sub(one_waiter - owned, std::memory_order_seq_cst);
    std::atomic<std::uint32_t>& turns = turns_[turn_++ % turns_.size()];
    turns.fetch_add(1, std::memory_order_release);
    turns.notify_all();
}

void Context::Impl::give_up() noexcept {
    if (options_.threads == Threads::one) return;
    flush_or_gather();
    let_go();
}

// Inside trigger(), messages that its callbacks post are collected and sent together.
void Context::Impl::flush_or_gather() noexcept {
    if (calling_user.context != this || ++calling_user.unsent >= handed_over_max) flush();
}

void Context::Impl::let_go() noexcept {
    if (options_.threads == Threads::one) return;
    for (;;) {
        publish();
        ring_sleeper_if_needed();
        disown();
        // A thread that pushed work and could not own the context relies on another look at the queue: this one, or
        // that of the thread which owns the context now or waits for it.
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

// If another thread owns the context, it runs what was handed over when it gives the context up.
void Context::Impl::run_handed_over() noexcept {
    calling_user.handed_over = 0;
    if (!try_own()) return;
    refresh_now();
    (void)run_submitted();
    calling_user.unsent = handed_over_max;  // makes give_up() flush
    give_up();
}

Errc Context::Impl::check(const Op& op) const noexcept {
    CINNABAR_ASSERT(op.state != OpState::posted && op.complete && op.peer);
    const Port& port = op.peer->port();
    if (is_message(op.kind)) {
        if (!op.message || op.message->port != &port) return Errc::invalid_argument;
        if (op.message_bytes > op.message->payload_bytes_max) return Errc::invalid_argument;
        return op.message_bytes > op.peer->message_bytes_max() ? Errc::too_large : Errc::ok;
    }
    Transport* transport = nullptr;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        if (ports_[i].get() == &port) transport = transports_[i];
    }
    CINNABAR_ASSERT(transport);
    const Caps& caps = transport->caps();
    const Limits& limits = transport->limits();
    if (is_atomic(op.kind)) {
        if (!caps.atomics) return Errc::unsupported;
        if (op.remote_offset % 8 != 0) return Errc::invalid_argument;
        return op.remote.bytes < 8 || op.remote_offset > op.remote.bytes - 8 ? Errc::invalid_argument : Errc::ok;
    }
    if (op.kind == OpKind::put_notify && !caps.put_notify) return Errc::unsupported;
    if (!op.local || &op.local->transport() != transport) return Errc::invalid_argument;
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

Errc Context::Impl::post_owned(Op& op) noexcept {
    if (closed_) return Errc::closed;
    if (const Errc wrong = check(op); wrong != Errc::ok) return wrong;
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

// Completions are collected during an ownership and published together at its end.
void Context::Impl::enqueue(Work& work) noexcept {
    fresh_.push_back(work);
    ++fresh_count_;
    if (publishes_at_once_) [[unlikely]]
        publish();
}

void Context::Impl::publish() noexcept {
    if (fresh_count_ == 0) return;
    if (options_.threads == Threads::one) return publish_alone();
    const SpinGuard guard(completions_lock_);
    publish_alone();
}

inline void Context::Impl::publish_alone() noexcept {
    completions_.splice_back(fresh_);
    const std::uint32_t count = std::exchange(fresh_count_, 0);
    completions_count_.store(completions_count_.load(std::memory_order_relaxed) + count, std::memory_order_release);
}

inline Work* Context::Impl::pop_completion() noexcept {
    if (completions_count_.load(std::memory_order_acquire) == 0) return nullptr;
    if (options_.threads == Threads::one) return pop_completion_alone();
    const SpinGuard guard(completions_lock_);
    return pop_completion_alone();
}

inline Work* Context::Impl::pop_completion_alone() noexcept {
    Work* const work = completions_.pop_front();
    if (!work) return nullptr;
    completions_count_.store(completions_count_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    return work;
}

Errc Context::post_owned(Op& op) noexcept { return impl_->post_owned(op); }

Errc Context::post(Op& op) noexcept {
    if (impl_->options_.threads == Threads::one) return impl_->post_owned(op);
    if (impl_->try_own()) {
        impl_->refresh_now();
        const Errc taken = impl_->post_owned(op);
        impl_->give_up();
        return taken;
    }
    // The owner calls check(), because the peer's limits may be read only by the owner.
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

void Context::cancel_owned(Op& op) noexcept { impl_->cancel_owned(op); }

void Context::gather_while(const std::atomic<std::uint32_t>* more) noexcept { more_to_come = more; }

void Context::run_owned(Work& work) noexcept {
    Impl& impl = *impl_;
    if (calling_user.hands_to != &impl) [[unlikely]]
        return impl.run_owned_outside(work);
    if (impl.submitted_.push(work)) [[unlikely]]
        return impl.handed_over_first();
    if (++calling_user.handed_over >= handed_over_max) [[unlikely]]
        impl.run_handed_over();
}

// A sleeping thread may run it, in case this callback waits for the result.
void Context::Impl::handed_over_first() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) ring();
    if (++calling_user.handed_over >= handed_over_max) run_handed_over();
}

// Called outside of the callbacks of this context.
void Context::Impl::run_owned_outside(Work& work) noexcept {
    if (options_.threads == Threads::one) return work.run(work);
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

void Context::submit(Work& work) noexcept { impl_->submit(work); }

void Context::enqueue(Work& work) noexcept { impl_->enqueue(work); }

TimeUs Context::callback_begins() noexcept {
    return calling_user.timed == calling_user.ran ? calling_user.callback_began : impl_->clock_.coarse_us();
}

TimeUs Context::callback_ends() noexcept {
    calling_user.timed = calling_user.ran + 1;
    return calling_user.callback_began = impl_->clock_.coarse_us();
}

unsigned Context::trigger(unsigned count_max) noexcept {
    Impl& impl = *impl_;
    if (impl.owned_here()) return 0;
    const CallingUser outer = std::exchange(calling_user, impl.calling_user_of());
    unsigned count = 0;
    while (count < count_max) {
        Work* const work = impl.pop_completion();
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
    for (Work* work = queue.front(); work; ++count) {
        Work& now = *std::exchange(work, work->next_work);  // when it has run, it may be queued again or be freed
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
    if (context_.impl_->options_.threads == Threads::many) context_.impl_->refresh_now();
}

Context::Ownership::~Ownership() {
    if (!nested_) context_.impl_->give_up();
}

}  // namespace cinnabar::na
