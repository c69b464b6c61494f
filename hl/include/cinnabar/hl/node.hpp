// SPDX-License-Identifier: BSD-3-Clause
// Node: a process's place on the network. It opens transports, drives them, serves RPCs and makes calls. It owns what a
// NodeRef refers to. Any thread uses it.
//
// A node has a thread that makes progress, so that callbacks, handlers and tasks run by themselves. With
// NodeOptions::progress_thread = false it has none: whoever waits (wait, sync_wait, Future::get, run) drives it, and a
// call and its answer take no switch of threads; what nobody waits for stands still. A simulated network never has
// threads.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/rpc/options.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::hl {

struct NodeOptions {
    rpc::Options rpc = {};                        // of each context; its threads are always `many`
    na::TransportOptions transport = {};          // of each transport; `listen` is set by listen()
    unsigned contexts = 1;                        // loops that share nothing on the data path
    bool progress_thread = true;                  // one per context; sim://: ignored, whoever waits drives all nodes
    std::uint64_t buffer_bytes_max = 256u << 20;  // of buffers()
    // Nothing asks who calls, so listen() logs a warning when it listens on all interfaces, unless this says that it is
    // meant: the handlers decide who may do what, or the network does.
    bool strangers_may_call = false;
    // Adds plugins besides the compiled-in ones: registry.add(info), registry.load(path).
    std::function<Result<void>(na::Registry& registry)> plugins = {};
};

struct Connected;

class CINNABAR_API Node : public NodeRef {
  public:
    using Options = NodeOptions;

    // A node that reaches the peer of that address, and the peer: it opens the transports that the address names, as
    // far as they are here, so that calls take the best of them (shared memory on the same host, else the first in the
    // peer's order). `transport`: that one alone. The peer is dialled by the first call. bad_address: it cannot be
    // parsed, or the peer is not on that transport; unsupported: no transport of it is here; or why the last could not
    // be opened.
    [[nodiscard]] static Result<Connected> connect(std::string_view address, Options options = {},
                                                   std::string_view transport = {});

    // Opens transports and accepts peers on them: "tcp://127.0.0.1:0", or several. A way to oneself is always there.
    [[nodiscard]] static Result<Node> listen(std::string_view uri, Options options = {});
    [[nodiscard]] static Result<Node> listen(std::initializer_list<std::string_view> uris, Options options = {});
    [[nodiscard]] static Result<Node> listen(std::span<const std::string> uris, Options options = {});
    // Opens transports to call over: "tcp://". Its peers can call back over its connections.
    [[nodiscard]] static Result<Node> open(std::string_view uri, Options options = {});
    [[nodiscard]] static Result<Node> open(std::initializer_list<std::string_view> uris, Options options = {});
    [[nodiscard]] static Result<Node> open(std::span<const std::string> uris, Options options = {});

    Node(Node&& other) noexcept : NodeRef(std::exchange(other.core_, nullptr)) {}
    Node& operator=(Node&& other) noexcept {
        Node taken(std::move(other));
        std::swap(core_, taken.core_);
        return *this;
    }
    // Stops and awaits its tasks and handlers, then ends its calls with `canceled`. Futures and calls may outlive it.
    // Requires: not on one of its own threads, nor inside a task.
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
