// SPDX-License-Identifier: BSD-3-Clause
#include "executions.hpp"

#include <algorithm>
#include <vector>

namespace cinnabar::group {

Executions::Found Executions::find_or_begin(const CallId& id, const na::Addr& source, TimeUs now) {
    const std::lock_guard lock(mutex_);
    if (const auto at = executions_.find(id); at != executions_.end()) {
        ++at->second->waiting;
        at->second->orphaned_us = time_never;
        return {at->second, false};
    }
    if (executions_.size() >= calls_max_ / 2) {
        std::erase_if(executions_, [now](const auto& each) { return each.second->forgotten_us <= now; });
        if (executions_.size() >= calls_max_) return {};
        const auto of_source = std::count_if(executions_.begin(), executions_.end(),
                                             [&](const auto& each) { return each.second->source == source; });
        if (static_cast<std::size_t>(of_source) >= calls_max_ / 2) return {};
    }
    auto execution = std::make_shared<Execution>();
    execution->id = id;
    execution->source = source;
    execution->waiting = 1;
    executions_.emplace(id, execution);
    return {std::move(execution), true};
}

void Executions::end(Execution& execution, TreeAnswer answer, TimeUs now) {
    {
        const std::lock_guard lock(mutex_);
        execution.answer = std::move(answer);
        execution.forgotten_us = after(now, answer_kept);
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
        const auto at = executions_.find(id);
        if (at == executions_.end()) return;
        execution = at->second;
    }
    execution->stop.request_stop();
}

void Executions::sweep(TimeUs now) {
    std::vector<std::shared_ptr<Execution>> orphans;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(executions_, [now](const auto& each) { return each.second->forgotten_us <= now; });
        for (const auto& [id, execution] : executions_) {
            const bool running = execution->forgotten_us == time_never;
            if (running && after(execution->orphaned_us, orphan_grace) <= now) orphans.push_back(execution);
        }
    }
    for (const auto& orphan : orphans) orphan->stop.request_stop();
}

void Executions::stop_all() {
    std::vector<std::shared_ptr<Execution>> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, execution] : executions_) all.push_back(execution);
    }
    for (const auto& each : all) each->stop.request_stop();
}

std::size_t Executions::size() const {
    const std::lock_guard lock(mutex_);
    return executions_.size();
}

}  // namespace cinnabar::group
