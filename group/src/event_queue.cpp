// SPDX-License-Identifier: BSD-3-Clause
#include "event_queue.hpp"

namespace cinnabar::group {

void EventQueue::add(const Event& event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() >= events_max) {
        events_.clear();
        events_.push_back({Happened::missed, no_rank, 0, event.stamp});
    }
    events_.push_back(event);
    changed_->set();
}

void EventQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_->set();
}

std::optional<Result<Event>> EventQueue::take(std::shared_ptr<Signal>& later) {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
        const Event event = events_.front();
        events_.pop_front();
        return event;
    }
    if (closed_) return Result<Event>(Error(Errc::closed, "the group was closed here"));
    if (changed_->is_set()) changed_ = std::make_shared<Signal>();
    later = changed_;
    return {};
}

hl::Task<Result<Event>> Events::next() {
    for (;;) {
        std::shared_ptr<Signal> later;
        if (auto taken = queue_->take(later)) co_return *std::move(taken);
        const Errc waited = co_await wait_for(queue_->node(), later);
        if (waited != Errc::ok) co_return waited;
    }
}

}  // namespace cinnabar::group
