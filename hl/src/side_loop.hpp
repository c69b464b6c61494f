// SPDX-License-Identifier: BSD-3-Clause
// SideLoop: opens, keeps and closes the side loop of a node (cinnabar/hl/side_loop.hpp). A side loop is the core of a
// second node over the same transports, with an engine, and so a table of handlers, of its own. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace cinnabar::rpc {
class Policy;
}

namespace cinnabar::hl {

class NodeCore;

class SideLoop {
  public:
    explicit SideLoop(NodeCore& of) noexcept : of_(of) {}

    // Returns the core of the side loop, and opens it first if it is not open.
    [[nodiscard]] Result<NodeCore*> get();
    void set_policy(const std::shared_ptr<const rpc::Policy>& policy);
    void drain() noexcept;
    // Ends the tasks that run on the side loop, and waits for them. After end_tasks(), no side loop is opened.
    // Requires: not on a thread of the node.
    void end_tasks() noexcept;
    // Ends all that runs on the side loop. Requires: end_tasks().
    void close() noexcept;

  private:
    [[nodiscard]] Result<NodeCore*> open();

    NodeCore& of_;
    std::mutex mutex_;
    NodeCore* core_ = nullptr;
    bool closed_ = false;
    std::optional<std::shared_ptr<const rpc::Policy>> policy_;  // unset: the policy with which the node was opened
};

}  // namespace cinnabar::hl
