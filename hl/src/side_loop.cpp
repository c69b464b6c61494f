// SPDX-License-Identifier: BSD-3-Clause
#include "side_loop.hpp"

#include "node_core.hpp"

#include <cinnabar/hl/side_loop.hpp>

#include <utility>

namespace cinnabar::hl {

Result<NodeRef> side_loop(const NodeRef& node) {
    CINNABAR_TRY(NodeCore * core, NodeCore::side_loop_of(node).get());
    return core->ref();
}

Result<NodeCore*> SideLoop::get() {
    const std::lock_guard lock(mutex_);
    if (closed_) return Error(Errc::closed, "the node is being destroyed");
    if (!core_) {
        CINNABAR_TRY(core_, open());
    }
    return core_;
}

Result<NodeCore*> SideLoop::open() {
    if (of_.simulated_clock() || !of_.options_.progress_thread)
        return Error(Errc::unsupported, "a node without threads of its own has no side loop");
    // Not NodeCore::close(), which blocks: nothing has begun there yet, and this may be a thread of a loop.
    struct Discard {
        void operator()(NodeCore* core) const noexcept {
            for (Loop* loop : core->loops_) {
                loop->stop_driving();
                loop->close();
                loop->release();
            }
            delete core;
        }
    };
    NodeOptions options;
    options.rpc = of_.options_.rpc;
    if (policy_) options.rpc.policy = *policy_;
    options.timed_one_in = 0;
    std::unique_ptr<NodeCore, Discard> core(new NodeCore(std::move(options)));
    core->is_side_ = true;
    for (const auto& transport : of_.transports_) {
        if (transport->scheme() != "self") core->transports_.push_back(transport);
    }
    if (core->transports_.empty()) return Error(Errc::unsupported, "a node that can only call itself has no side loop");
    CINNABAR_TRY(core->engine_, rpc::Engine::open(core->transports_));
    CINNABAR_TRY_VOID(core->open_loops());
    return core.release();
}

void SideLoop::set_policy(const std::shared_ptr<const rpc::Policy>& policy) {
    const std::lock_guard lock(mutex_);
    policy_ = policy;
    if (core_) core_->ref().set_policy(policy);
}

void SideLoop::drain() noexcept {
    const std::lock_guard lock(mutex_);
    if (core_) core_->engine().drain();
}

void SideLoop::end_tasks() noexcept {
    NodeCore* core = nullptr;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        core = core_;
    }
    // Without the lock: a task that ends there may still ask for it.
    if (core) core->end_tasks();
}

void SideLoop::close() noexcept {
    NodeCore* core = nullptr;
    {
        const std::lock_guard lock(mutex_);
        core = std::exchange(core_, nullptr);
    }
    if (core) core->close();
}

}  // namespace cinnabar::hl
