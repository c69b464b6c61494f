// SPDX-License-Identifier: BSD-3-Clause
// Notifications from other agents that this agent has not read yet. Thread-safe.
#pragma once

#include <cinnabar/base/error.hpp>

#include <backend_engine.h>

#include <cstddef>
#include <mutex>
#include <string>

namespace cinnabar::nixl {

class Notices {
  public:
    // The size of all agents' names and messages together. An agent that does not read its notifications refuses more.
    static constexpr std::size_t bytes_max = std::size_t{64} << 20;

    // overloaded: there are too many.
    [[nodiscard]] Errc add(std::string agent, std::string message);
    // Moves all to `out`.
    void take(notif_list_t& out);

  private:
    std::mutex mutex_;
    notif_list_t waiting_;
    std::size_t bytes_ = 0;
};

}  // namespace cinnabar::nixl
