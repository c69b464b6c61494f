// SPDX-License-Identifier: BSD-3-Clause
// The ports of this plugin in this process. They share the context of their device, and with it its asynchronous
// events, of which whoever is first reads those of all. Any thread.
#pragma once

#include <mutex>
#include <vector>

namespace cinnabar::verbs {

class VerbsPort;

class OwnPorts {
  public:
    [[nodiscard]] static OwnPorts& of_process() {
        static OwnPorts all;
        return all;
    }
    void add(VerbsPort& port) {
        const std::lock_guard lock(mutex_);
        all_.push_back(&port);
    }
    // Nothing is asked of it any more when this returns.
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

}  // namespace cinnabar::verbs
