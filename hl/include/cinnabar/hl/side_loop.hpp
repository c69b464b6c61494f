// SPDX-License-Identifier: BSD-3-Clause
// A side loop: one more loop of a node, with a context, a thread and connections of its own over the node's transports.
// Calls and requests of the side loop wait neither for the node's handlers nor behind its transfers. A side loop is for
// short work that must not be late, such as the failure detection of a group. A node has at most one side loop.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/na/side_context.hpp>

namespace cinnabar::hl {

// Peers reach the side loop of a process by address.with_context(side_context). `unreachable`: there is no side loop.
inline constexpr na::ContextId side_context = na::side_context;

// Returns the side loop of this node as a node of its own: RPCs served by the side loop cannot be called through this
// node, and RPCs that this node serves cannot be called through the side loop. The first call opens the side loop.
// It ends with the node, after the node's own loops have stopped; until then, the returned node is valid. The policy of
// the node applies to the side loop as well, so the policy's audit function may run on both threads at once; quotas
// count requests to the side loop separately. Any thread, also a loop's. unsupported: the node has no threads of its
// own (NodeOptions::progress_thread, a simulated network), or can only call itself. closed: the node is being
// destroyed. out_of_memory. Also the errors of a transport that cannot open another context.
[[nodiscard]] CINNABAR_API Result<NodeRef> side_loop(const NodeRef& node);

}  // namespace cinnabar::hl
