// SPDX-License-Identifier: BSD-3-Clause
#include "loop.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>
#include <cinnabar/hl/stop.hpp>

#include <new>
#include <vector>

namespace cinnabar::hl {
namespace {

// The stop sources of all scopes that one stop() reaches. The callbacks of these sources are user code, which may use
// any scope. A child is stopped under its parent's lock, so the callbacks run only after the outermost stop() has
// released all locks.
using Sources = std::vector<std::stop_source>;
thread_local Sources* collecting = nullptr;

void collect(std::stop_source& source) noexcept {
    try {
        collecting->push_back(source);
    } catch (const std::bad_alloc&) {
        source.request_stop();
    }
}

}  // namespace

StopScope::StopScope(StopScope* parent) noexcept : parent_(parent) {
    if (!parent_) return;
    up_.user = this;
    up_.fire = [](StopNode& node) noexcept { static_cast<StopScope*>(node.user)->stop(); };
    if (!parent_->add(up_)) stopped_.store(true, std::memory_order_relaxed);
}

StopScope::~StopScope() {
    // An operation that stop() handed over ends without the mutex, maybe before stop() has let go of it.
    if (stopped()) const std::lock_guard lock(mutex_);
    if (parent_) parent_->remove(up_);
    leave_loop();
    CINNABAR_ASSERT(nodes_.empty() && in_turns_.empty());
}

bool StopScope::serves(Loop& loop) noexcept {
    const std::lock_guard lock(mutex_);
    Loop* const served = loop_.load(std::memory_order_relaxed);
    if (served == &loop) return true;
    // A loop that is over has no operations. Only a stopped scope may still be with it.
    if (served && !(served->over() && !stopped_.load(std::memory_order_relaxed))) return false;
    loop.acquire();
    loop_.store(&loop, std::memory_order_relaxed);
    if (served) served->release();
    return true;
}

void StopScope::leave_loop() noexcept {
    Loop* const loop = loop_.load(std::memory_order_relaxed);
    if (!loop) return;
    if (stopped()) loop->stopped_scopes.remove(*this);
    loop_.store(nullptr, std::memory_order_relaxed);
    loop->release();
}

bool StopScope::add(StopNode& node) noexcept {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return false;
    node.in_turns = false;
    nodes_.push_back(node);
    return true;
}

void StopScope::remove_locked(StopNode& node) noexcept {
    const std::lock_guard lock(mutex_);
    if (node.link.linked) nodes_.remove(node);
}

void StopScope::stop() noexcept {
    Sources sources;
    const bool outermost = !collecting;
    if (outermost) collecting = &sources;
    {
        const std::lock_guard lock(mutex_);
        if (!stopped_.exchange(true, std::memory_order_acq_rel)) {
            while (StopNode* node = nodes_.pop_front()) node->fire(*node);
            if (Loop* loop = loop_.load(std::memory_order_relaxed)) {
                if (loop->here()) {
                    fire_in_turn();
                } else {
                    loop->stopped_scopes.add(*this);
                    CINNABAR_TEST_YIELD("stop: handed over");
                }
            }
            if (source_) collect(*source_);
        }
    }
    if (!outermost) return;
    collecting = nullptr;
    for (std::stop_source& source : sources) source.request_stop();
}

void StopScope::fire_in_turn() noexcept {
    while (StopNode* node = in_turns_.pop_front()) node->fire(*node);
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
    const std::lock_guard lock(mutex_);  // first: the stop() may not have let go of it (~StopScope)
    leave_loop();
    CINNABAR_ASSERT(nodes_.empty() && in_turns_.empty() && !parent_);
    stopped_.store(false, std::memory_order_relaxed);
    source_.reset();
}

}  // namespace cinnabar::hl
