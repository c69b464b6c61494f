// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/stop.hpp>

namespace cinnabar::hl {

StopScope::StopScope(StopScope* parent) noexcept : parent_(parent) {
    if (!parent_) return;
    up_.user = this;
    up_.fire = [](StopNode& node) noexcept { static_cast<StopScope*>(node.user)->stop(); };
    if (!parent_->add(up_)) stopped_.store(true, std::memory_order_relaxed);
}

StopScope::~StopScope() {
    if (parent_) parent_->remove(up_);
    CINNABAR_ASSERT(nodes_.empty());
}

bool StopScope::add(StopNode& node) noexcept {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return false;
    nodes_.push_back(node);
    return true;
}

void StopScope::remove(StopNode& node) noexcept {
    const std::lock_guard lock(mutex_);
    if (node.link.linked) nodes_.remove(node);
}

void StopScope::stop() noexcept {
    std::optional<std::stop_source> source;
    {
        const std::lock_guard lock(mutex_);
        if (stopped_.exchange(true, std::memory_order_acq_rel)) return;
        while (StopNode* node = nodes_.pop_front()) node->fire(*node);
        source = source_;
    }
    // Outside the lock: the callbacks are user code.
    if (source) source->request_stop();
}

std::stop_token StopScope::token() {
    const std::lock_guard lock(mutex_);
    if (!source_) {
        source_.emplace();
        if (stopped_.load(std::memory_order_relaxed)) source_->request_stop();
    }
    return source_->get_token();
}

void StopScope::reset() noexcept {
    const std::lock_guard lock(mutex_);
    CINNABAR_ASSERT(nodes_.empty() && !parent_);
    stopped_.store(false, std::memory_order_relaxed);
    source_.reset();
}

}  // namespace cinnabar::hl
