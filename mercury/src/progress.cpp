// SPDX-License-Identifier: BSD-3-Clause
// Progress, callbacks, and integration with other event loops.
#include "context.hpp"

#include <algorithm>
#include <chrono>

using namespace cinnabar;

namespace {

unsigned run_callbacks(hg_context& context, unsigned count_max) {
    const SpareScope<hg_handle> scope(mercury::spare_handle, context.handles);
    return context.rpc->trigger(count_max);
}

}  // namespace

hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout) {
    if (!context) return HG_INVALID_ARG;
    rpc::Context& rpc = *context->rpc;
    const auto did_within = [&](TimeUs span) {
        return rpc.progress(Microseconds(span)) != 0 || rpc.na().has_completions();
    };
    if (timeout == 0) return did_within(0) ? HG_SUCCESS : HG_TIMEOUT;  // without reading the clock
    const TimeUs until = rpc.deadline_in(std::chrono::milliseconds(timeout));
    TimeUs left = std::uint64_t{timeout} * 1000;
    while (!did_within(left)) {
        // Another thread may have handled the event that woke this one.
        const TimeUs now = rpc.now_us();
        if (now >= until) return HG_TIMEOUT;
        left = until - now;
    }
    return HG_SUCCESS;
}

hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                       unsigned int* actual_count) {
    if (!context) return HG_INVALID_ARG;
    rpc::Context& rpc = *context->rpc;
    unsigned ran = run_callbacks(*context, max_count);
    if (ran == 0 && max_count != 0 && timeout != 0) {
        const TimeUs until = rpc.deadline_in(std::chrono::milliseconds(timeout));
        for (TimeUs now = rpc.now_us(); ran == 0 && now < until; now = rpc.now_us()) {
            (void)rpc.progress(Microseconds(until - now));
            ran = run_callbacks(*context, max_count);
        }
    }
    if (actual_count) *actual_count = ran;
    return ran != 0 || max_count == 0 ? HG_SUCCESS : HG_TIMEOUT;
}

int HG_Event_get_wait_fd(const hg_context_t* context) { return context ? context->rpc->wait_fd() : -1; }

bool HG_Event_ready(hg_context_t* context) { return context && !context->rpc->prepare_wait(); }

hg_return_t HG_Event_progress(hg_context_t* context, unsigned int* count) {
    if (!context) return HG_INVALID_ARG;
    (void)context->rpc->progress(Microseconds{0});
    if (count) *count = context->rpc->na().completions();
    return HG_SUCCESS;
}

hg_return_t HG_Event_trigger(hg_context_t* context, unsigned int max_count, unsigned int* actual_count) {
    if (!context) return HG_INVALID_ARG;
    const unsigned ran = run_callbacks(*context, max_count);
    if (actual_count) *actual_count = ran;
    return HG_SUCCESS;
}
