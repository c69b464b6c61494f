// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network. Any thread.
#pragma once

#include "greeting.hpp"

#include <cinnabar/na/pipe_memory.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>
#include <cinnabar/na/session/stream.hpp>

#include <memory>
#include <string>

namespace cinnabar::tcp {

class TcpPort;
using na::SocketAddress;

// An incoming connection whose greeting is read.
struct Incoming {
    na::Stream stream;
    Greeting greeting;
};

// What protects the connections of a transport. Any thread.
class StreamGuards {
  public:
    virtual ~StreamGuards() = default;
    // Give a connection its guard. out_of_memory; bad_address: an address that cannot be proven.
    [[nodiscard]] virtual Errc protect_accepted(na::Stream& stream) const noexcept = 0;
    [[nodiscard]] virtual Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept = 0;
    // Whether what the other side of an established connection has proven is good by now, too. `guard`: one of these.
    [[nodiscard]] virtual bool knows(const na::StreamGuard& guard) const noexcept = 0;
    // From now on `renewed` runs, on some thread, each time when what is good has changed. Null: no more, nor does it
    // run any longer when this returns.
    virtual void tell_of_renewals(void (*renewed)(void* user), void* user) noexcept = 0;
    // For `cinnabar info`.
    [[nodiscard]] virtual std::string diagnosis() const = 0;
};

class TcpTransport final : public na::SocketTransport, public na::PipeTaker {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    // One whose connections are protected. `scheme`: static storage.
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open_guarded(const na::Uri& uri,
                                                                             const na::TransportOptions& options,
                                                                             std::string_view scheme,
                                                                             std::unique_ptr<StreamGuards> guards);
    ~TcpTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return scheme_; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] std::string diagnosis() const override;
    [[nodiscard]] bool takes_pipes() const noexcept override { return !guards_; }

    [[nodiscard]] na::PortTable<TcpPort>& ports() noexcept { return ports_; }
    // Null: the bytes are on the sockets as they are.
    [[nodiscard]] const StreamGuards* guards() const noexcept { return guards_.get(); }

  private:
    TcpTransport(const na::TransportOptions& options, std::string_view scheme, std::unique_ptr<StreamGuards> guards);
    static void renewed(void* self);

    const std::string_view scheme_;
    const std::unique_ptr<StreamGuards> guards_;
    na::PortTable<TcpPort> ports_;
};

}  // namespace cinnabar::tcp
