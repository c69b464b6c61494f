// SPDX-License-Identifier: BSD-3-Clause
// Node: opens transports, drives them, serves RPCs and makes calls. A NodeRef refers to a Node without owning it.
// Thread-safe.
//
// By default a node has a progress thread, so callbacks, handlers and tasks run by themselves. With
// NodeOptions::progress_thread = false, a node has no thread: the thread that waits (wait, sync_wait, Future::get, run)
// drives the node. A call then needs no thread switch, but nothing happens while no thread waits. On a simulated
// network nodes never have threads.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/introspection.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/trace.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/rpc/options.hpp>

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::hl {

struct NodeOptions {
    rpc::Options rpc = {};                // of each context; the option `threads` is always `many`
    na::TransportOptions transport = {};  // of each transport; `listen` is set by listen()
    // The number of contexts. Each context has its own loop; contexts share nothing on the data path. With progress
    // threads, incoming connections that do not name a context are distributed over the contexts
    // (TransportOptions::spread).
    unsigned contexts = 1;
    bool progress_thread = true;  // one per context; ignored on sim://, where the waiting thread drives all nodes
    std::uint64_t buffer_bytes_max = 256u << 20;  // of buffers()
    // Silences the warning that listen() logs when a node without rpc.policy (rpc/policy.hpp) listens on all
    // interfaces, because everybody who can connect may then call every RPC. Set this if the handlers check their
    // callers, or if the network is trusted.
    bool strangers_may_call = false;
    // Who may query the state of this node (introspection.hpp), as `cinnabar top` does.
    Introspection introspection = Introspection::off;
    // Of the calls of this node, one in this many is timed: the call records where its time went (RpcCounts::parts),
    // with the target's help. Rounded up to a power of two; 0: no call is timed.
    std::uint32_t timed_one_in = 64;
    // Receives the spans of traces (trace.hpp); null: none are recorded. Several nodes may share one.
    std::shared_ptr<Tracer> tracer = {};
    // Adds plugins besides the compiled-in ones: registry.add(info), registry.load(path).
    std::function<Result<void>(na::Registry& registry)> plugins = {};
};

struct Connected;

class CINNABAR_API Node : public NodeRef {
  public:
    using Options = NodeOptions;

    // Opens a node that can call the peer at this address, and returns the node and the peer. Opens those transports of
    // the address that this host has; calls use the best of them (shared memory on the same host, else the first in the
    // peer's order). `transport`: if not empty, the only scheme to use. The first call dials. bad_address: the address
    // cannot be parsed, or has no endpoint on `transport`; unsupported: this host has none of the address's transports;
    // otherwise the error of the last transport that could not be opened.
    [[nodiscard]] static Result<Connected> connect(std::string_view address, Options options = {},
                                                   std::string_view transport = {});

    // Opens transports and accepts connections on them: "tcp://127.0.0.1:0", or several. A node can always call itself.
    [[nodiscard]] static Result<Node> listen(std::string_view uri, Options options = {});
    [[nodiscard]] static Result<Node> listen(std::initializer_list<std::string_view> uris, Options options = {});
    [[nodiscard]] static Result<Node> listen(std::span<const std::string> uris, Options options = {});
    // Opens transports for outgoing calls: "tcp://". Peers can call back over the connections that this node made.
    [[nodiscard]] static Result<Node> open(std::string_view uri, Options options = {});
    [[nodiscard]] static Result<Node> open(std::initializer_list<std::string_view> uris, Options options = {});
    [[nodiscard]] static Result<Node> open(std::span<const std::string> uris, Options options = {});

    Node(Node&& other) noexcept : NodeRef(std::exchange(other.core_, nullptr)) {}
    Node& operator=(Node&& other) noexcept {
        Node taken(std::move(other));
        std::swap(core_, taken.core_);
        return *this;
    }
    // Stops the node's tasks and handlers and waits for them, then ends the node's calls with `canceled`. Futures and
    // Pending calls may outlive the node. Requires: not on one of the node's own threads, nor inside a task.
    ~Node();

    [[nodiscard]] NodeRef ref() const noexcept { return *this; }

  private:
    explicit Node(NodeCore* core) noexcept : NodeRef(core) {}
};

struct Connected {
    Node node;
    na::Addr peer;
};

}  // namespace cinnabar::hl
