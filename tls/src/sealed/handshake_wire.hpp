// SPDX-License-Identifier: BSD-3-Clause
// Carries the bytes of one handshake between OpenSSL and the messages of a session. Owner of the context only.
#pragma once

#include "wire.hpp"

#include <cinnabar/base/bytes.hpp>

#include <vector>

namespace cinnabar::na {
class Peer;
}

namespace cinnabar::tls {

class HandshakeWire final : public Wire {
  public:
    // Starts a handshake. `peer`: named in log lines until end().
    void begin(const na::Peer* peer) noexcept;
    void end() noexcept;

    // Gives OpenSSL the bytes of a message to read. The bytes must live until unread() is 0.
    void feed(ConstBytes bytes) noexcept { in_ = bytes; }
    // Bytes that OpenSSL has not read.
    [[nodiscard]] std::size_t unread() const noexcept { return in_.size(); }
    // The bytes that have not been sent yet.
    [[nodiscard]] ConstBytes unsent() const noexcept { return ConstBytes(out_).subspan(sent_); }
    void sent(std::size_t bytes) noexcept;

    // Overrides of Wire.
    [[nodiscard]] na::Moved receive(void* to, std::size_t bytes) noexcept override;
    [[nodiscard]] na::Moved send(const void* from, std::size_t bytes) noexcept override;
    void cut() noexcept override { is_cut_ = true; }
    [[nodiscard]] std::string log_name() const noexcept override;

  private:
    // OpenSSL sends a flight at a time: at most a chain of certificates.
    static constexpr std::size_t unsent_bytes_max = 64 * 1024;

    ConstBytes in_;
    std::vector<std::byte> out_;
    std::size_t sent_ = 0;
    const na::Peer* peer_ = nullptr;
    bool is_cut_ = false;
};

}  // namespace cinnabar::tls
