// SPDX-License-Identifier: BSD-3-Clause
// A connected socket and its guard, if the transport protects its bytes. Owner of the context only.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/session/message_guard.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::na {

// Protects the bytes of one socket, such as a TLS connection. A guard uses the socket but does not own it, and never
// blocks. Its memory is bounded, whatever the other side sends or does not read.
class StreamGuard {
  public:
    virtual ~StreamGuard() = default;

    // Continues the handshake. ok: both sides have proven who they are. again: call establish() again at one of
    // `epoll_events`. Any other result: the handshake failed, and the log says why. permission: one of the sides did
    // not prove its identity to the other; protocol: the other side speaks another protocol; peer_lost.
    [[nodiscard]] virtual Errc establish(std::uint32_t& epoll_events) noexcept = 0;

    // As receive_some and send_some. receive() moves fewer bytes than asked for if no more were received, and send() if
    // there is no room. send() copies the bytes that it takes and keeps those for which the socket has no room; flush()
    // sends them. receive(): protocol: the bytes were changed on the way; permission: the other side refused this
    // side's proof.
    [[nodiscard]] virtual Moved receive(const iovec* pieces, std::size_t count) noexcept = 0;
    [[nodiscard]] virtual Moved send(const iovec* pieces, std::size_t count) noexcept = 0;
    // False: some bytes are still kept, because the socket has no room.
    [[nodiscard]] virtual bool flush() noexcept = 0;
    [[nodiscard]] virtual bool unsent() const noexcept = 0;
    // Whether receive() can return bytes although the socket reports none.
    [[nodiscard]] virtual bool unread() const noexcept = 0;
    // The serial number, from 1 on, of a record that was received in part and holds memory; 0: there is none.
    [[nodiscard]] virtual std::uint64_t partial_record() const noexcept = 0;

    // Why establish() or receive() has failed, as Peer::lost_because. Null: the guard knows no more than the error
    // code, or has not failed.
    [[nodiscard]] virtual const char* failed_because() const noexcept = 0;
    // Who the other side is. Requires: established.
    [[nodiscard]] virtual const ProvenIdentity& identity() const noexcept = 0;
    // A guard for messages that both sides exchange outside of this stream; the message guard must not outlive this
    // object. Null: no message guard can be made. Requires: established.
    [[nodiscard]] virtual std::unique_ptr<MessageGuard> message_guard() noexcept = 0;
    // Tells the other side that no more bytes follow, if there is room for that.
    virtual void end() noexcept = 0;
};

class Stream {
  public:
    Stream() = default;
    explicit Stream(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    // Null: the bytes are not protected.
    [[nodiscard]] StreamGuard* guard() const noexcept { return guard_.get(); }
    void protect(std::unique_ptr<StreamGuard> guard) noexcept { guard_ = std::move(guard); }
    [[nodiscard]] const ProvenIdentity* identity() const noexcept { return guard_ ? &guard_->identity() : nullptr; }

    [[nodiscard]] Moved receive(void* to, std::size_t bytes) noexcept {
        if (!guard_) [[likely]]
            return receive_some(fd(), to, bytes);
        const iovec piece{to, bytes};
        return guard_->receive(&piece, 1);
    }
    [[nodiscard]] Moved receive(iovec* pieces, std::size_t count) noexcept {
        if (!guard_) [[likely]]
            return receive_some(fd(), pieces, count);
        return guard_->receive(pieces, count);
    }
    [[nodiscard]] Moved send(const void* from, std::size_t bytes) noexcept {
        if (!guard_) [[likely]]
            return send_some(fd(), from, bytes);
        const iovec piece{const_cast<void*>(from), bytes};
        return guard_->send(&piece, 1);
    }
    [[nodiscard]] Moved send(iovec* pieces, std::size_t count) noexcept {
        if (!guard_) [[likely]]
            return send_some(fd(), pieces, count);
        return guard_->send(pieces, count);
    }

    void reset() noexcept {
        guard_.reset();
        fd_.reset();
    }

  private:
    UniqueFd fd_;
    std::unique_ptr<StreamGuard> guard_;
};

}  // namespace cinnabar::na
