// SPDX-License-Identifier: BSD-3-Clause
// A pool of threads for handlers that compute or block, so that they do not hold up progress. Made by Node::make_pool;
// the threads are joined when the node is destroyed. On a simulated network, which has no threads, the pool's handlers
// run on the loop. A Pool is a reference-counted handle. Thread-safe.
#pragma once

#include <cinnabar/hl/executor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::hl {

// `high` runs first; `low` still gets one turn in sixteen.
enum class Priority : std::uint8_t { high, normal, low };

struct PoolOptions {
    unsigned threads = 1;
    // The maximum number of requests that wait for a thread; further requests are answered `overloaded`. One peer may
    // have at most half as many requests waiting, and fewer while requests of other peers wait, too.
    std::uint32_t queue_max = 4096;
    std::string name = "cinnabar-pool";  // of the threads; 15 bytes are shown
};

class PoolCore;

// A request that waits for its first thread.
struct NewJob : Job {
    std::uint32_t* waiting = nullptr;  // used by the pool: number of waiting requests of the same peer
};

class CINNABAR_API Pool {
  public:
    Pool() = default;
    explicit operator bool() const noexcept { return core_ != nullptr; }
    // The number of requests that wait for a thread; a snapshot.
    [[nodiscard]] std::uint32_t queued() const noexcept;
    [[nodiscard]] Executor& executor() const noexcept;

  private:
    friend class NodeCore;
    friend struct ServeOptions;
    std::shared_ptr<PoolCore> core_;
};

}  // namespace cinnabar::hl
