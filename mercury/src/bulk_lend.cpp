// SPDX-License-Identifier: BSD-3-Clause
// Lends the memory of a bulk handle: leases are granted when the handle is first serialized, and revoked when the
// handle is freed.
#include "bulk.hpp"
#include "context.hpp"
#include "errors.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/bulk/far_lender.hpp>

#include <sched.h>

#include <algorithm>
#include <chrono>

using namespace cinnabar;

namespace cinnabar::mercury {
namespace {

constexpr TimeUs patience_us = 1'000'000;

// Drives contexts, because fences complete inside progress(). Among them is the context that this thread is destroying:
// the callbacks of its canceled operations may free handles. In single-threaded mode, no other context is driven,
// because only a context's own thread may drive it.
void drive(hg_class& owner) noexcept {
    if (hg_context* const context = context_destroyed_here(); context && context->owner == &owner) {
        (void)context->rpc->progress(std::chrono::milliseconds(1));
    }
    const bool single = (owner.network->options.thread_mode & NA_THREAD_MODE_SINGLE_CTX) != 0;
    const std::lock_guard lock(owner.contexts_mutex);
    if (owner.open_contexts.empty() || single) {
        (void)::sched_yield();
        return;
    }
    for (hg_context* context : owner.open_contexts) (void)context->rpc->progress(std::chrono::milliseconds(1));
}

void revoke(Lending& lending) noexcept {
    lending.fenced.run = [](WorkItem& work) noexcept {
        static_cast<Lending&>(bulk::Lend::of(work)).over.store(true, std::memory_order_release);
    };
    if (!lending.granted() || lending.revoke() == Errc::ok) lending.over.store(true, std::memory_order_relaxed);
}

bool is_over(const std::unique_ptr<Lending>& lending) { return lending->over.load(std::memory_order_acquire); }

}  // namespace

hg_return_t lend(hg_bulk& bulk) {
    const std::size_t networks = bulk.local.is_far() ? 1 : bulk.owner->engine->transports().size();
    if (bulk.lends.size() == networks) return HG_SUCCESS;
    std::vector<std::shared_ptr<na::Transport>> lenders = bulk.owner->engine->transports();
    if (bulk.local.is_far()) {
        auto lender = bulk.owner->engine->far_lender();
        if (!lender) return failed("lending memory of a device", lender.error());
        lenders = {*std::move(lender)};
    }
    // Leases of an earlier attempt are kept, and revoked when the handle is freed.
    while (bulk.lends.size() < networks) {
        const auto& transport = lenders[bulk.lends.size()];
        auto& lending = bulk.lends.emplace_back(std::make_unique<Lending>());
        const Errc granted = lending->grant(bulk.local, static_cast<na::Access>(bulk.flags), transport);
        if (granted == Errc::ok) continue;
        bulk.lends.pop_back();
        return failed("lending memory to peers", granted);
    }
    return HG_SUCCESS;
}

hg_return_t take_back(hg_bulk& bulk) noexcept {
    if (bulk.lends.empty()) return HG_SUCCESS;
    hg_class& owner = *bulk.owner;
    for (const auto& lending : bulk.lends) revoke(*lending);
    const TimeUs until = steady_clock().now_us() + patience_us;
    while (!std::ranges::all_of(bulk.lends, is_over) && steady_clock().now_us() < until) drive(owner);
    const auto safe = [](const std::unique_ptr<Lending>& lending) {
        return is_over(lending) && !lending->quarantined();
    };
    if (std::ranges::all_of(bulk.lends, safe)) return HG_SUCCESS;
    (void)guarded([&] {
        const std::lock_guard lock(owner.contexts_mutex);
        for (auto& lending : bulk.lends) {
            if (!safe(lending)) owner.quarantine.push_back(std::move(lending));
        }
        return HG_SUCCESS;
    });
    return failed(
        "HG_Bulk_free: a peer was suspended in the middle of an access and may still use the memory: do not reuse it "
        "before HG_Finalize",
        HG_TIMEOUT);
}

}  // namespace cinnabar::mercury
