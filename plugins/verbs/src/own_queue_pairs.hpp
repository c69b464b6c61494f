// SPDX-License-Identifier: BSD-3-Clause
// The queue pairs of this plugin in this process. The device's context belongs to librdmacm, which shares it with all
// who use it in the process: an asynchronous event may name a queue pair of somebody else. Any thread.
#pragma once

#include <infiniband/verbs.h>

#include <mutex>
#include <unordered_map>

namespace cinnabar::verbs {

class Connection;

class OwnQueuePairs {
  public:
    [[nodiscard]] static OwnQueuePairs& of_process() {
        static OwnQueuePairs all;
        return all;
    }
    void add(ibv_qp* queue_pair, Connection& connection) {
        const std::lock_guard lock(mutex_);
        all_[queue_pair] = &connection;
    }
    void remove(ibv_qp* queue_pair) noexcept {
        const std::lock_guard lock(mutex_);
        all_.erase(queue_pair);
    }
    // Null: it is somebody else's.
    [[nodiscard]] Connection* find(ibv_qp* queue_pair) noexcept {
        const std::lock_guard lock(mutex_);
        const auto at = all_.find(queue_pair);
        return at == all_.end() ? nullptr : at->second;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<ibv_qp*, Connection*> all_;
};

}  // namespace cinnabar::verbs
