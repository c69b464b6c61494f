// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network. Any thread.
#pragma once

#include "greeting.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>

#include <memory>

namespace cinnabar::tcp {

class TcpPort;
using na::SocketAddress;

// An incoming connection whose greeting is read.
struct Incoming {
    UniqueFd fd;
    Greeting greeting;
};

class TcpTransport final : public na::SocketTransport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~TcpTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "tcp"; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] std::string diagnosis() const override;

    [[nodiscard]] na::PortTable<TcpPort>& ports() noexcept { return ports_; }

  private:
    using SocketTransport::SocketTransport;

    na::PortTable<TcpPort> ports_;
};

}  // namespace cinnabar::tcp
