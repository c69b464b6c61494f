// SPDX-License-Identifier: BSD-3-Clause
#include "loop.hpp"

#include "pool_core.hpp"
#include "shared_clock.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <sched.h>

#include <algorithm>
#include <system_error>

namespace cinnabar::hl {
namespace {

// The most callbacks between two rounds of progress, so that they cannot starve progress.
constexpr unsigned completions_per_round = 64;

// Its address names the thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local char this_thread = 0;

Job& job_of(WorkItem& work) noexcept { return *static_cast<Job*>(work.user); }

// With more threads than cores, the pool's thread would otherwise wait until this thread stops spinning.
void yield_to_pools() noexcept {
    if (PoolCore::take_posted()) ::sched_yield();
}

}  // namespace

Loop::Loop(NodeCore& node, std::unique_ptr<rpc::Context> context, bool first, bool threaded,
           TimeSource* simulated_clock)
    : node_(node),
      context_(std::move(context)),
      clock_(context_->na().clock()),
      counts_alone_(first),
      threaded_(threaded),
      simulated_clock_(simulated_clock) {
    if (simulated_clock_) join_clock(*this);
}

Loop::~Loop() { CINNABAR_ASSERT(!thread_.joinable() && !context_); }

void Loop::post(Job& job) noexcept {
    // posting_ keeps the loop open until this thread has left the context. Without posting_, a closing node that waits
    // for this job could free the context as soon as the job is done.
    posting_.fetch_add(1, std::memory_order_relaxed);
    job.loop = this;
    job.work.user = &job;
    // The owner of a context must not run user code, so it queues the job with the completions.
    job.work.run = [](WorkItem& submitted) noexcept {
        submitted.run = [](WorkItem& completion) noexcept { job_of(completion).body(job_of(completion)); };
        job_of(submitted).loop->context_->na().enqueue(submitted);
    };
    context_->na().submit(job.work);
    posting_.fetch_sub(1, std::memory_order_release);
}

void Loop::run_completions() noexcept {
    const TurnThread::OnlyTurn only(turn_thread_);
    const Turn turn(*this);
    (void)context_->trigger(completions_per_round);
}

bool Loop::help_if_stuck() noexcept {
    const std::uint32_t turn = turns_.load(std::memory_order_relaxed);
    const bool stuck = turn % 2 == 1 && turn == seen_turn_;
    seen_turn_ = turn;
    if (!stuck) return false;
    context_->progress_beside();
    context_->run_urgent();
    return true;
}

void Loop::drive(Microseconds timeout) noexcept {
    if (simulated_clock_) return drive_clock(*this, timeout);
    drive_alone(timeout);
}

void Loop::drive_alone(Microseconds timeout) noexcept {
    (void)context_->progress(timeout);
    run_completions();
    yield_to_pools();
}

void Loop::poll() noexcept {
    if (closed()) return;  // a callback that runs while the node closes
    // Loops on a simulated clock are used by one thread at a time.
    if (simulated_clock_ || leads()) return drive(Microseconds{0});
    if (threaded_ || !try_lead()) return;
    drive(Microseconds{0});
    stop_leading();
}

void Loop::run_thread() noexcept {
    leader_.store(&this_thread, std::memory_order_relaxed);
    for (std::uint32_t turns = 0; !leaving(); turns += 2) {
        (void)context_->progress(sleep_max);
        turns_.store(turns + 1, std::memory_order_relaxed);
        run_completions();
        turns_.store(turns + 2, std::memory_order_relaxed);
        yield_to_pools();
    }
    stop_leading();
}

Result<void> Loop::start_thread() {
    if (!threaded_) return {};
    try {
        thread_ = std::thread([this] { run_thread(); });
    } catch (const std::system_error& refused) {
        return Error(Errc::out_of_memory, "a thread of the node could not be started", {}, refused.code().value());
    }
    return {};
}

bool Loop::leads() const noexcept { return leader_.load(std::memory_order_relaxed) == &this_thread; }

bool Loop::try_lead() noexcept {
    const void* nobody = nullptr;
    if (!leader_.compare_exchange_strong(nobody, &this_thread)) return false;
    // Either stop_driving() sees that this thread leads, or this thread that it must not.
    if (!leaving_.load()) return true;
    stop_leading();
    return false;
}

bool Loop::try_lead(Waiter& waiter) noexcept {
    if (leaving()) return false;
    if (try_lead()) return true;
    const std::lock_guard lock(leader_mutex_);
    if (std::find(followers_.begin(), followers_.end(), &waiter) == followers_.end()) followers_.push_back(&waiter);
    awaited_.store(true);
    // A leader that left before has told nobody.
    if (leader_.load() == nullptr) waiter.kick();
    return false;
}

void Loop::stop_leading() noexcept {
    leader_.store(nullptr);
    if (!awaited_.load()) return;
    const std::lock_guard lock(leader_mutex_);
    awaited_.store(false);
    for (Waiter* follower : followers_) follower->kick();
    followers_.clear();
    leader_left_.notify_all();
}

void Loop::forget(Waiter& waiter) noexcept {
    const std::lock_guard lock(leader_mutex_);
    std::erase(followers_, &waiter);
}

void Loop::stop_driving() noexcept {
    if (simulated_clock_) leave_clock(*this);
    leaving_.store(true);
    ring_.run = [](WorkItem&) noexcept {};
    if (context_) context_->na().submit(ring_);
    if (thread_.joinable()) thread_.join();
    std::unique_lock lock(leader_mutex_);
    leader_left_.wait(lock, [this] {
        awaited_.store(true);
        return leader_.load() == nullptr;
    });
}

void Loop::close() noexcept {
    if (!context_) return;
    leader_.store(&this_thread, std::memory_order_relaxed);
    stopped_scopes.close();
    {
        const na::Context::Ownership ownership(context_->na());
        while (Sleeper* sleeper = sleepers.pop_front()) sleeper->end(*sleeper);
    }
    do {
        drive_alone(Microseconds{0});  // the loop has left the simulated clock
    } while (context_->na().has_completions());
    while (posting_.load(std::memory_order_acquire) != 0) ::sched_yield();
    const TurnThread::OnlyTurn only(turn_thread_);
    const Turn turn(*this);  // operations in flight complete inside
    closed_.store(true, std::memory_order_release);
    context_.reset();
    // There is no turn after this one.
    references_.fetch_add(held_in_turns_ - held_until_closed, std::memory_order_acq_rel);
}

}  // namespace cinnabar::hl
