// SPDX-License-Identifier: BSD-3-Clause
// What waits at the origin to be sent: for a credit, a slot for the reply, the connection, or room in the transport.
// Owner of the context only.
#pragma once

#include "peer_book.hpp"

namespace cinnabar::rpc {

class SendQueue {
  public:
    explicit SendQueue(ContextCore& core) noexcept : core_(core) {}

    [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }
    // Whether so many bytes of arguments may wait, too.
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept;
    void enter(Call& call, bool first) noexcept;
    // Does nothing to a call that does not wait.
    void leave(Call& call) noexcept {
        if (!call.link_.linked) return;
        call.book_->queued.remove(call);
        bytes_ -= call.input_bytes_;
        --calls_;
    }
    // The arguments of a call that waits had `before` bytes.
    void resized(const Call& call, std::uint32_t before) noexcept { bytes_ = bytes_ - before + call.input_bytes_; }

    // Sends what may be sent.
    void pump(PeerBook& book) noexcept {
        if (!book.queued.empty()) send_queued(book);
    }
    [[nodiscard]] bool may_send(PeerBook& book) noexcept;
    // The transport has no room: the book is looked at a little later.
    void try_later(PeerBook& book) noexcept;
    // Not now, but in a moment: the caller may be in the middle of any list.
    void look_soon(PeerBook& book) noexcept;

  private:
    [[nodiscard]] Call& next(PeerBook& book) noexcept;
    [[gnu::noinline]] void send_queued(PeerBook& book) noexcept;
    void look_again(PeerBook& book) noexcept;

    ContextCore& core_;
    std::size_t bytes_ = 0;
    std::uint32_t calls_ = 0;
};

}  // namespace cinnabar::rpc
