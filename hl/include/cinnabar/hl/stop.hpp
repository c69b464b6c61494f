// SPDX-License-Identifier: BSD-3-Clause
// StopScope: asks all operations that are registered with it to stop. Scopes form a tree: stopping a scope stops its
// children. Unlike std::stop_source, a StopScope allocates nothing, unless a std::stop_token is asked for. Thread-safe.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/short_mutex.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>

namespace cinnabar::hl {

// Registration of one operation with a StopScope; embedded in the operation.
struct StopNode {
    ListLink<StopNode> link;
    // Runs at most once, inside stop(), under the scope's lock. The function must not block, run user code, use any
    // scope, or take ownership of a context, because the owner of a context may complete operations that take the lock
    // of a scope.
    void (*fire)(StopNode& self) noexcept = nullptr;
    void* user = nullptr;
};

class CINNABAR_API StopScope {
  public:
    StopScope() = default;
    // A child of `parent`, which must outlive it.
    explicit StopScope(StopScope* parent) noexcept;
    // Requires: no node is left in the scope.
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    // False if the scope has been stopped already: then the node is not added and never fires.
    [[nodiscard]] bool add(StopNode& node) noexcept;
    // When this returns, the node has fired or never will. Does nothing if the node was not added.
    void remove(StopNode& node) noexcept;
    // Stops this scope and its children: each node fires once.
    void stop() noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    // A token that is stopped with this scope; allocates at the first call.
    [[nodiscard]] std::stop_token token();
    // Makes the scope usable again after stop(). Requires: no nodes and no parent.
    void reset() noexcept;

  private:
    // Lock order: the ownership of a context, then a parent's mutex, then its children's. So never take, or wait for,
    // the ownership of a context while holding this mutex.
    ShortMutex mutex_;
    std::atomic<bool> stopped_{false};
    IntrusiveList<StopNode, &StopNode::link> nodes_;
    std::optional<std::stop_source> source_;
    StopScope* parent_ = nullptr;
    StopNode up_;
};

}  // namespace cinnabar::hl
