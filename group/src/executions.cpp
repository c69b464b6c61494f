// SPDX-License-Identifier: BSD-3-Clause
#include "executions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cinnabar::group {
namespace {

std::uint64_t bytes_of(const TreeAnswer& answer) noexcept {
    std::uint64_t bytes = answer.combined.capacity();
    for (const detail::Part& part : answer.parts) bytes += sizeof part + part.bytes.capacity();
    for (const Failure& failure : answer.failures) bytes += sizeof failure + failure.text.size();
    for (const Orphan& orphan : answer.orphans) bytes += sizeof orphan + orphan.below.size() * sizeof(RankRun);
    return bytes;
}

}  // namespace

Executions::Found Executions::find_or_begin(const CallId& id, const na::Addr& source, TimeUs now,
                                            Microseconds come_back) {
    const std::lock_guard lock(mutex_);
    forget(now);
    if (const auto at = records_.find(id); at != records_.end()) return found_again(at->second.execution);
    Share& share = shares_[&source.body()];
    if (over_ || !has_room(share)) {
        if (share.records == 0) shares_.erase(&source.body());
        return {};
    }
    auto execution = std::make_shared<Execution>();
    execution->id = id;
    execution->waiting = 1;
    execution->grace = orphan_grace + come_back;
    records_.emplace(id, Record{source, execution});
    running_.insert(id);
    ++share.records;
    ++share.running;
    return {std::move(execution), true, false};
}

Executions::Found Executions::find(const CallId& id, TimeUs now) {
    const std::lock_guard lock(mutex_);
    forget(now);
    const auto at = records_.find(id);
    return at == records_.end() ? Found{{}, false, true} : found_again(at->second.execution);
}

Executions::Found Executions::found_again(const std::shared_ptr<Execution>& known) {
    if (!known) return {{}, false, true};
    ++known->waiting;
    known->orphaned_us = time_never;
    return {known, false, false};
}

// Makes room by dropping an answer if necessary. False: there is no room.
bool Executions::has_room(Share& share) {
    const std::size_t records_max = remembered * calls_max_;
    if (share.records >= records_max / 2 || records_.size() >= records_max) return false;
    if (share.kept() >= std::max<std::size_t>(calls_max_ / 2, 1)) return drop_answer(share);
    return running_.size() + answers_ < calls_max_ || drop_answer(largest());
}

// Returns false if there is no answer to drop.
bool Executions::drop_answer(Share& share) {
    if (share.answers.empty()) return false;
    Record& record = records_.at(share.answers.front());
    record.execution = nullptr;
    share.bytes -= record.bytes;
    bytes_ -= record.bytes;
    share.answers.pop_front();
    --answers_;
    return true;
}

// The source with the most kept answers.
Executions::Share& Executions::largest() {
    const auto fewer = [](const auto& a, const auto& b) { return a.second.answers.size() < b.second.answers.size(); };
    return std::max_element(shares_.begin(), shares_.end(), fewer)->second;
}

// Deliveries that wait for a dropped answer get it nevertheless, because they hold its execution.
void Executions::drop_large_answers(Share& share) {
    while (share.bytes > answer_bytes_max_ / 2) (void)drop_answer(share);
    const auto smaller = [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; };
    while (bytes_ > answer_bytes_max_)
        (void)drop_answer(std::max_element(shares_.begin(), shares_.end(), smaller)->second);
}

void Executions::forget(TimeUs now) {
    for (; !ended_.empty() && ended_.front().forgotten_us <= now; ended_.pop_front())
        forget(records_.find(ended_.front().id));
}

// Calls are forgotten in the order in which they ended, so the answer of this one is the oldest of its source.
void Executions::forget(Records::iterator at) {
    const auto share = shares_.find(&at->second.source.body());
    if (at->second.execution) (void)drop_answer(share->second);
    if (--share->second.records == 0) shares_.erase(share);
    records_.erase(at);
}

void Executions::end(Execution& execution, TreeAnswer answer, TimeUs now) {
    {
        const std::uint64_t bytes = bytes_of(answer);
        const std::lock_guard lock(mutex_);
        execution.answer = std::move(answer);
        const auto at = records_.find(execution.id);
        Share& share = shares_.at(&at->second.source.body());
        running_.erase(execution.id);
        --share.running;
        share.answers.push_back(execution.id);
        ++answers_;
        at->second.bytes = bytes;
        share.bytes += bytes;
        bytes_ += bytes;
        drop_large_answers(share);
        const TimeUs then = after(now, answer_kept);
        ended_.push_back({ended_.empty() ? then : std::max(then, ended_.back().forgotten_us), execution.id});
        if (over_) forget(time_never);
    }
    execution.ended->set();
}

void Executions::stop_waiting(Execution& execution, TimeUs now) {
    const std::lock_guard lock(mutex_);
    if (--execution.waiting == 0) execution.orphaned_us = now;
}

void Executions::cancel(const CallId& id) {
    std::shared_ptr<Execution> execution;
    {
        const std::lock_guard lock(mutex_);
        if (running_.contains(id)) execution = records_.at(id).execution;
    }
    if (execution) execution->stop.request_stop();
}

void Executions::sweep(TimeUs now) {
    std::vector<std::shared_ptr<Execution>> orphans;
    {
        const std::lock_guard lock(mutex_);
        forget(now);
        for (const CallId& id : running_) {
            const std::shared_ptr<Execution>& execution = records_.at(id).execution;
            if (after(execution->orphaned_us, execution->grace) <= now) orphans.push_back(execution);
        }
    }
    for (const auto& orphan : orphans) orphan->stop.request_stop();
}

void Executions::stop_all() {
    std::vector<std::shared_ptr<Execution>> running;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
        forget(time_never);
        for (const CallId& id : running_) running.push_back(records_.at(id).execution);
    }
    for (const auto& each : running) each->stop.request_stop();
}

std::size_t Executions::size() const {
    const std::lock_guard lock(mutex_);
    return records_.size();
}

std::size_t Executions::answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
}

std::uint64_t Executions::answer_bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

}  // namespace cinnabar::group
