// SPDX-License-Identifier: BSD-3-Clause
// What the contexts of a process share: the transports, the table of handlers, and the counts for quotas of callers.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/options.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bulk {
class FarLender;
}

namespace cinnabar::rpc {

class CallerTable;

class CINNABAR_API Engine {
  public:
    // invalid_argument: the list is empty.
    [[nodiscard]] static Result<std::unique_ptr<Engine>> open(std::vector<std::shared_ptr<na::Transport>> transports);
    // Requires: all its contexts are destroyed.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Opens a context; the engine must outlive the context. exists: a context with that id is open. Also the errors of
    // na::Context::open.
    [[nodiscard]] Result<std::unique_ptr<Context>> open_context(const Options& options);

    // Registers a handler for requests that arrive from now on. Any thread, at any time. exists: the id is served
    // already; the subject has the names of both handlers, because two names may have the same id.
    [[nodiscard]] Result<void> serve(RpcId id, ProviderId provider, Handler handler);
    // Removes a handler; requests that are running are not affected. not_found.
    [[nodiscard]] Errc withdraw(RpcId id, ProviderId provider);
    // Null: no handler is registered. The result stays valid for the life of the engine.
    [[nodiscard]] const Handler* find(RpcId id, ProviderId provider) const noexcept;

    struct Served {
        RpcId id = 0;
        ProviderId provider = 0;
        std::string name;
    };
    // The RPCs that are served at present, in no particular order. Any thread.
    [[nodiscard]] std::vector<Served> served() const;

    // The address at which peers reach context 0. If no transport listens, only peers that this process has dialled can
    // use the address.
    [[nodiscard]] na::Addr self_addr() const;
    [[nodiscard]] const std::vector<std::shared_ptr<na::Transport>>& transports() const noexcept;
    // Returns the largest size of encoded arguments, and of an encoded result, that fits in a message of every
    // transport; larger arguments and results are transferred in bulk. For a peer with smaller messages, the size is
    // smaller.
    [[nodiscard]] std::size_t input_bytes_eager() const noexcept;
    [[nodiscard]] std::size_t output_bytes_eager() const noexcept;

    // Returns the transport that lends far memory by means of calls (bulk/far_lender.hpp); the engine serves these
    // calls from the first use of this function on. Any thread. exists: the program itself serves a call of that name.
    [[nodiscard]] Result<std::shared_ptr<bulk::FarLender>> far_lender();

    // From now on, new requests are answered with `shutting_down`, and new calls fail with `closed`; requests and calls
    // in progress continue. Any thread. After drain(), drive the contexts until their counts show no calls and no
    // requests, or a time limit has passed.
    void drain() noexcept;
    [[nodiscard]] bool draining() const noexcept;

  private:
    friend class ContextCore;
    struct Shared;
    [[nodiscard]] std::uint64_t routes() const noexcept;  // na::ContextOptions::routes of all contexts
    explicit Engine(std::unique_ptr<Shared> shared) noexcept;
    // What callers with a quota have in progress in all contexts.
    [[nodiscard]] CallerTable& callers() noexcept;
    std::unique_ptr<Shared> shared_;
};

}  // namespace cinnabar::rpc
