// SPDX-License-Identifier: BSD-3-Clause
// Carries the bytes of a TLS handshake that does not run on a socket, but in messages. Owner of the context only.
#pragma once

#include <cinnabar/na/session/socket.hpp>

#include <cstddef>
#include <string>

namespace cinnabar::tls {

class Wire {
  public:
    // receive() and send() are as na::receive_some and na::send_some; send() copies the bytes. again: nothing has
    // arrived yet, or too many bytes wait to be sent.
    [[nodiscard]] virtual na::Moved receive(void* to, std::size_t bytes) noexcept = 0;
    [[nodiscard]] virtual na::Moved send(const void* from, std::size_t bytes) noexcept = 0;
    // Called when the handshake has failed: from then on nothing is received or sent.
    virtual void cut() noexcept = 0;
    // The other side, for log lines; "a peer" if out of memory.
    [[nodiscard]] virtual std::string log_name() const noexcept = 0;

  protected:
    ~Wire() = default;
};

}  // namespace cinnabar::tls
