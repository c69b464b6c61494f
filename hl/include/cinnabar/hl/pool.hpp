// SPDX-License-Identifier: BSD-3-Clause
// Threads for handlers that compute or block: they never stop progress. Made by Node::make_pool and joined when the
// node goes. On a simulated network, which has no threads, its handlers run on the loop. Handles are counted; any
// thread.
#pragma once

#include <cinnabar/hl/executor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::hl {

// What waits at `high` goes first; `low` still gets one turn in sixteen.
enum class Priority : std::uint8_t { high, normal, low };

struct PoolOptions {
    unsigned threads = 1;
    std::uint32_t queue_max = 4096;      // requests that wait for a thread; then `overloaded`
    std::string name = "cinnabar-pool";  // of the threads; 15 bytes are shown
};

class PoolCore;

class CINNABAR_API Pool {
  public:
    Pool() = default;
    explicit operator bool() const noexcept { return core_ != nullptr; }
    // Requests that wait for a thread now; a snapshot.
    [[nodiscard]] std::uint32_t queued() const noexcept;
    [[nodiscard]] Executor& executor() const noexcept;

  private:
    friend class NodeCore;
    friend struct ServeOptions;
    std::shared_ptr<PoolCore> core_;
};

}  // namespace cinnabar::hl
