// SPDX-License-Identifier: BSD-3-Clause
// The socket, or the wire of messages, below OpenSSL. Output that the kernel does not accept is kept here, up to 64
// KiB. Owner of the context only.
#pragma once

#include "openssl.hpp"
#include "record_cuts.hpp"
#include "wire.hpp"

#include <cinnabar/na/session/socket.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::tls {

class TlsSocket {
  public:
    enum class Side : std::uint8_t { accepts, dials };

    // `fd` must outlive this object. `plain_greeting_bytes`: see ProtectedScheme.
    TlsSocket(int fd, Side side, std::size_t plain_greeting_bytes) noexcept
        : fd_(fd), wire_(nullptr), side_(side), plain_greeting_bytes_(plain_greeting_bytes) {}
    // In place of a socket; `wire` must outlive this object.
    TlsSocket(Wire& wire, Side side) noexcept : fd_(-1), wire_(&wire), side_(side), plain_greeting_bytes_(0) {}
    TlsSocket(const TlsSocket&) = delete;
    TlsSocket& operator=(const TlsSocket&) = delete;

    // The BIO by which OpenSSL reads and writes; this object must outlive it. Null: out of memory.
    [[nodiscard]] BIO* make_bio() noexcept;

    // Call before OpenSSL is asked for input. OpenSSL then reads until the kernel has no more.
    void expect_input() noexcept { short_ = false; }
    // How the last read ended: ok, again, peer_lost, or protocol (not TLS, or too much for a handshake).
    [[nodiscard]] Errc last_read() const noexcept { return last_read_; }
    // `more`: more output follows at once, so that the kernel may fill a packet with several records.
    void expect_output(bool more) noexcept { more_ = more; }
    // Lets the peer send any number of bytes from now on. Call after the handshake.
    void set_established() noexcept { established_ = true; }
    // Whether the peer has sent anything during the handshake.
    [[nodiscard]] bool heard() const noexcept { return handshake_bytes_ > 0; }
    [[nodiscard]] const RecordCuts& cuts() const noexcept { return cuts_; }

    [[nodiscard]] bool unsent() const noexcept { return held_begin_ < held_.size(); }
    // Writes what is held. False: the kernel takes no more now.
    [[nodiscard]] bool flush() noexcept;
    // Breaks the connection: the next read returns the error.
    void cut() noexcept;
    [[nodiscard]] bool is_cut() const noexcept { return cut_; }

  private:
    // The most that a peer may send before it is authenticated.
    static constexpr std::size_t handshake_bytes_max = 64 * 1024;
    static constexpr std::size_t held_bytes_max = 64 * 1024;

    [[nodiscard]] static const BIO_METHOD* method() noexcept;
    static int read(BIO* bio, char* to, int bytes);
    static int write(BIO* bio, const char* from, int bytes);
    [[nodiscard]] na::Moved receive(void* to, std::size_t bytes) noexcept;
    // `ahead`: more output follows at once.
    [[nodiscard]] na::Moved send(const void* from, std::size_t bytes, bool ahead) noexcept;
    [[nodiscard]] bool is_tls(const char* begin, std::size_t bytes) noexcept;
    [[nodiscard]] bool hold(const char* from, std::size_t bytes) noexcept;

    const int fd_;
    Wire* const wire_;  // null: fd_ is used
    const Side side_;
    const std::size_t plain_greeting_bytes_;
    bool established_ = false;
    bool cut_ = false;
    bool short_ = false;  // the last read took everything from the socket
    bool more_ = false;
    Errc last_read_ = Errc::ok;
    std::size_t handshake_bytes_ = 0;
    RecordCuts cuts_;         // of the bytes read
    std::vector<char> held_;  // output that the kernel has not taken
    std::size_t held_begin_ = 0;
};

}  // namespace cinnabar::tls
