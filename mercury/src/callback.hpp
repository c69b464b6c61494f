// SPDX-License-Identifier: BSD-3-Clause
// A callback that is queued on the completion queue and run by trigger().
#pragma once

#include <cinnabar/base/work.hpp>
#include <cinnabar/na/context.hpp>

namespace cinnabar::mercury {

// Must live until `run` has started.
struct Callback {
    WorkItem run;  // the caller sets run.run and run.user
    WorkItem hand_over;
    na::Context* context = nullptr;

    // Any thread; see na::Context::run_owned.
    void queue(na::Context& on) noexcept {
        context = &on;
        hand_over.user = this;
        hand_over.run = [](WorkItem& work) noexcept {
            Callback& queued = *static_cast<Callback*>(work.user);
            queued.context->enqueue(queued.run);
        };
        on.run_owned(hand_over);
    }
};

}  // namespace cinnabar::mercury
