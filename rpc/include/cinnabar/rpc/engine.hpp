// SPDX-License-Identifier: BSD-3-Clause
// What the contexts of a process share: the transports and the table of handlers.
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

class CINNABAR_API Engine {
  public:
    // invalid_argument: no transport.
    [[nodiscard]] static Result<std::unique_ptr<Engine>> open(std::vector<std::shared_ptr<na::Transport>> transports);
    // Requires: its contexts are destroyed.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // The engine outlives the context. exists: that context id is open. Errors of na::Context::open.
    [[nodiscard]] Result<std::unique_ptr<Context>> open_context(const Options& options);

    // Any thread, at any time; requests that arrive later see it. exists: the id is served already (the subject names
    // by what: two names may share an id).
    [[nodiscard]] Result<void> serve(RpcId id, ProviderId provider, Handler handler);
    // not_found. Requests that are running go on.
    [[nodiscard]] Errc withdraw(RpcId id, ProviderId provider);
    // Null when it is not served. Stays valid for the life of the engine.
    [[nodiscard]] const Handler* find(RpcId id, ProviderId provider) const noexcept;

    struct Served {
        RpcId id = 0;
        ProviderId provider = 0;
        std::string name;
    };
    // The RPCs that are served now, in no particular order. Any thread.
    [[nodiscard]] std::vector<Served> served() const;

    // Where peers reach context 0. When nothing listens it serves only those that this process has dialled.
    [[nodiscard]] na::Addr self_addr() const;
    [[nodiscard]] const std::vector<std::shared_ptr<na::Transport>>& transports() const noexcept;
    // Of arguments and of a result: so much fits in a message of every transport, what is larger goes by bulk. A peer
    // with smaller messages may make that less.
    [[nodiscard]] std::size_t input_bytes_eager() const noexcept;
    [[nodiscard]] std::size_t output_bytes_eager() const noexcept;

    // The lender of far memory, by calls that it serves from the first use on (bulk/far_lender.hpp). Any thread.
    // exists: the program itself serves a call of that name.
    [[nodiscard]] Result<std::shared_ptr<bulk::FarLender>> far_lender();

    // New requests are answered `shutting_down`, new calls fail with `closed`; what runs goes on. Any thread. Drive the
    // contexts until their counts show no calls and no requests, or time is up.
    void drain() noexcept;
    [[nodiscard]] bool draining() const noexcept;

  private:
    friend class ContextCore;
    struct Shared;
    explicit Engine(std::unique_ptr<Shared> shared) noexcept;
    std::unique_ptr<Shared> shared_;
};

}  // namespace cinnabar::rpc
