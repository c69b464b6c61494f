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

// An incoming connection whose greeting was received.
struct Incoming {
    na::Stream stream;
    Greeting greeting;
};

// Creates the guards that protect a transport's connections. Any thread.
class StreamGuards {
  public:
    virtual ~StreamGuards() = default;
    // Create the guard of a connection. out_of_memory; bad_address: nothing can be proven about such an address.
    [[nodiscard]] virtual Errc protect_accepted(na::Stream& stream) const noexcept = 0;
    [[nodiscard]] virtual Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept = 0;
    // Whether the key or certificate that the other side of an established connection has proven is still valid.
    // `guard` was created by this object.
    [[nodiscard]] virtual bool knows(const na::StreamGuard& guard) const noexcept = 0;
    // Sets a function that is called, on any thread, each time the valid keys and certificates have changed. Null:
    // none; when this returns, the previous function is not running and will not be called.
    virtual void tell_of_renewals(void (*renewed)(void* user), void* user) noexcept = 0;
    // For `cinnabar info`.
    [[nodiscard]] virtual std::string diagnosis() const = 0;
};

class TcpTransport final : public na::SocketTransport, public na::PipeTaker {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    // Opens a transport whose connections are protected. `scheme`: static storage.
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
    // Null: connections are not protected.
    [[nodiscard]] const StreamGuards* guards() const noexcept { return guards_.get(); }

  private:
    TcpTransport(const na::TransportOptions& options, std::string_view scheme, std::unique_ptr<StreamGuards> guards);
    static void renewed(void* self);

    const std::string_view scheme_;
    const std::unique_ptr<StreamGuards> guards_;
    na::PortTable<TcpPort> ports_;
};

}  // namespace cinnabar::tcp
