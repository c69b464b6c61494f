// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network. Any thread.
#pragma once

#include "greeting.hpp"

#include <cinnabar/na/pipe_memory.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>
#include <cinnabar/na/session/stream_guards.hpp>

#include <memory>
#include <string>

namespace cinnabar::tcp {

class TcpPort;
using na::SocketAddress;

// An incoming connection whose greeting was received.
struct Incoming {
    na::Stream stream;
    Greeting greeting;
};

class TcpTransport final : public na::SocketTransport, public na::PipeTaker {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    // Opens a transport whose connections are protected. `scheme`: static storage.
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open_guarded(const na::Uri& uri,
                                                                             const na::TransportOptions& options,
                                                                             std::string_view scheme,
                                                                             std::unique_ptr<na::StreamGuards> guards);
    ~TcpTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return scheme_; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] std::string diagnosis() const override;
    [[nodiscard]] bool takes_pipes() const noexcept override { return !guards_; }

    [[nodiscard]] na::PortTable<TcpPort>& ports() noexcept { return ports_; }
    // Null: connections are not protected.
    [[nodiscard]] const na::StreamGuards* guards() const noexcept { return guards_.get(); }

  private:
    TcpTransport(const na::TransportOptions& options, std::string_view scheme,
                 std::unique_ptr<na::StreamGuards> guards);
    static void renewed(void* self);

    const std::string_view scheme_;
    const std::unique_ptr<na::StreamGuards> guards_;
    na::PortTable<TcpPort> ports_;
};

}  // namespace cinnabar::tcp
