// SPDX-License-Identifier: BSD-3-Clause
// How an early end is asked for: a scope that tells what is in flight below it. Scopes form a tree. Unlike
// std::stop_source it allocates nothing; a std::stop_token of it can be had, and is made when asked for. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>

namespace cinnabar::hl {

// What wants to be told; embedded in an operation.
struct StopNode {
    ListLink<StopNode> link;
    // Runs at most once, inside stop(), under the scope's lock: it must not block, nor run user code, nor touch a
    // scope, nor own a context, whose owner may run endings that want this lock or another scope's.
    void (*fire)(StopNode& self) noexcept = nullptr;
    void* user = nullptr;
};

class CINNABAR_API StopScope {
  public:
    StopScope() = default;
    // Below `parent`, which must outlive it.
    explicit StopScope(StopScope* parent) noexcept;
    // Requires: no node is left in it.
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

    // False when it has been stopped already: then nothing was added and the node never fires.
    [[nodiscard]] bool add(StopNode& node) noexcept;
    // When it returns the node has fired, or never will. Nothing happens if it is not in.
    void remove(StopNode& node) noexcept;
    // Tells everybody below, once.
    void stop() noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    // A token that follows this scope; allocates at the first call.
    [[nodiscard]] std::stop_token token();
    // Makes it new again. Requires: no node is left in it, and no parent.
    void reset() noexcept;

  private:
    // Taken by owners of contexts, and from a parent to its children; never held while a context is owned or waited
    // for.
    std::mutex mutex_;
    std::atomic<bool> stopped_{false};
    IntrusiveList<StopNode, &StopNode::link> nodes_;
    std::optional<std::stop_source> source_;
    StopScope* parent_ = nullptr;
    StopNode up_;
};

}  // namespace cinnabar::hl
