// SPDX-License-Identifier: BSD-3-Clause
// One opened tcp network. Any thread.
#pragma once

#include "greeting.hpp"

#include <cinnabar/na/pipe_memory.hpp>
#include <cinnabar/na/session/guarded_transport.hpp>

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

class TcpTransport final : public na::GuardedTransport<TcpPort>, public na::PipeTaker {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    // Opens a transport whose connections are protected. `scheme`: static storage.
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open_guarded(const na::Uri& uri,
                                                                             const na::TransportOptions& options,
                                                                             std::string_view scheme,
                                                                             std::unique_ptr<na::StreamGuards> guards);

    [[nodiscard]] std::string_view scheme() const noexcept override { return scheme_; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] std::string diagnosis() const override;
    [[nodiscard]] bool takes_pipes() const noexcept override { return !guards(); }

  private:
    TcpTransport(const na::TransportOptions& options, std::string_view scheme,
                 std::unique_ptr<na::StreamGuards> guards);

    const std::string_view scheme_;
};

}  // namespace cinnabar::tcp
