// SPDX-License-Identifier: BSD-3-Clause
// All ports and queue pairs of this plugin in the process. Ports on a device share its context, which belongs to
// librdmacm, so a port that reads asynchronous events reads those of all ports. Any thread.
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <unordered_map>
#include <vector>

namespace cinnabar::verbs {

class Session;
class VerbsPort;

class ProcessPorts {
  public:
    [[nodiscard]] static ProcessPorts& get() {
        static ProcessPorts all;
        return all;
    }
    void add(VerbsPort& port) {
        const std::lock_guard lock(mutex_);
        all_.push_back(&port);
    }
    // On return no thread visits the port.
    void remove(VerbsPort& port) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase(all_, &port);
    }
    template <typename F>
    void each(F&& visit) noexcept {
        const std::lock_guard lock(mutex_);
        for (VerbsPort* const port : all_) visit(*port);
    }

  private:
    std::mutex mutex_;
    std::vector<VerbsPort*> all_;
};

class ProcessQueuePairs {
  public:
    [[nodiscard]] static ProcessQueuePairs& get() {
        static ProcessQueuePairs all;
        return all;
    }
    void add(ibv_qp* queue_pair, Session& session) {
        const std::lock_guard lock(mutex_);
        all_[queue_pair] = &session;
    }
    void remove(ibv_qp* queue_pair) noexcept {
        const std::lock_guard lock(mutex_);
        all_.erase(queue_pair);
    }
    // Null: the queue pair does not belong to this plugin.
    [[nodiscard]] Session* find(ibv_qp* queue_pair) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = all_.find(queue_pair);
        return at == all_.end() ? nullptr : at->second;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<ibv_qp*, Session*> all_;
};

}  // namespace cinnabar::verbs
