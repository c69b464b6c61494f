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

class Loop;
class StoppedScopes;

// Registration of one operation with a StopScope; embedded in the operation.
struct StopNode {
    ListLink<StopNode> link;
    // Runs at most once, under a lock: inside stop() or, for add_in_turn(), in a turn of the loop. The function must
    // not block, run user code, use any scope, or take ownership of a context, because the owner of a context may
    // complete operations that take this lock, or the lock of another scope.
    void (*fire)(StopNode& self) noexcept = nullptr;
    void* user = nullptr;
    bool in_turns = false;  // for StopScope
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
    // As add(), for an operation that begins and ends in turns of `loop` (Executor::Turn). It costs no atomic
    // instruction if the first such operation of this scope was of the same loop. Requires: this is a turn of `loop`,
    // and so is the remove().
    [[nodiscard]] bool add_in_turn(StopNode& node, Loop& loop) noexcept {
        if (loop_.load(std::memory_order_relaxed) != &loop && !serves(loop)) return add(node);
        // A stop() that is not seen here is handed over to the loop, which finds the node in a later turn.
        if (stopped_.load(std::memory_order_relaxed)) return false;
        node.in_turns = true;
        in_turns_.push_back(node);
        return true;
    }
    // When this returns, the node has fired or never will. Does nothing if the node was not added.
    void remove(StopNode& node) noexcept {
        if (!node.in_turns) return remove_locked(node);
        if (in_turns_.linked(node)) in_turns_.remove(node);
    }
    // Stops this scope and its children: each node fires once, those of a loop in its next turn.
    void stop() noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    // A token that is stopped with this scope; allocates at the first call.
    [[nodiscard]] std::stop_token token();
    // Makes the scope usable again after stop(). Requires: no nodes and no parent.
    void reset() noexcept;

  private:
    friend class StoppedScopes;
    // Whether add_in_turn() may use the list of the loop; decides for this loop if there was none.
    [[nodiscard]] bool serves(Loop& loop) noexcept;
    void leave_loop() noexcept;
    void remove_locked(StopNode& node) noexcept;
    void fire_in_turn() noexcept;

    // Lock order: the ownership of a context, then a parent's mutex, then its children's. So never take, or wait for,
    // the ownership of a context while holding this mutex.
    ShortMutex mutex_;
    std::atomic<bool> stopped_{false};
    IntrusiveList<StopNode, &StopNode::link> nodes_;
    std::optional<std::stop_source> source_;
    StopScope* parent_ = nullptr;
    StopNode up_;
    std::atomic<Loop*> loop_{nullptr};  // holds a reference
    // Used only in turns of loop_.
    IntrusiveList<StopNode, &StopNode::link> in_turns_;
    ListLink<StopScope> stopped_link_;  // in StoppedScopes of loop_
};

}  // namespace cinnabar::hl
