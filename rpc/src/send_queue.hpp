// SPDX-License-Identifier: BSD-3-Clause
// Calls of this side that wait to be sent: for a credit, a slot for the reply, the connection, or room in the
// transport. Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

class Control;
class Origin;
class Peers;
class Replies;

class SendQueue {
  public:
    SendQueue(ContextBase& base, Origin& origin, Replies& replies, Control& control, Peers& peers) noexcept
        : base_(base), replies_(replies), origin_(origin), control_(control), peers_(peers) {}

    [[nodiscard]] std::uint32_t calls() const noexcept { return calls_; }
    // Whether a call with that many bytes of arguments may be queued.
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
        return bytes_ + bytes <= base_.options.queued_bytes_max;
    }
    void enter(Call& call, bool first) noexcept;
    // Does nothing if the call is not queued.
    void leave(Call& call) noexcept {
        if (!call.link_.linked) return;
        call.book_->queued.remove(call);
        bytes_ -= call.input_bytes_;
        --calls_;
    }
    // As leave(), for a call that was sent. Requires: it is queued.
    void leave_sent(Call& call) noexcept;
    // Call when the size of a queued call's arguments has changed from `before` bytes.
    void resized(const Call& call, std::uint32_t before) noexcept { bytes_ = bytes_ - before + call.input_bytes_; }

    // Sends the queued calls that may be sent now.
    void pump(PeerBook& book) noexcept {
        if (!book.queued.empty()) send_queued(book);
    }
    [[nodiscard]] bool may_send(PeerBook& book) noexcept;
    // Call when the transport has no room: tries again a little later.
    void try_later(PeerBook& book) noexcept;
    // Tries again; deferred, because the caller may be iterating over any list.
    void look_soon(PeerBook& book) noexcept;

  private:
    void stuck_on(PeerBook& book, CallPhase phase) noexcept;
    void end_wait_for_credit(PeerBook& book) noexcept;
    [[nodiscard]] std::uint32_t for_credit_us(const Call& call) const noexcept;
    [[nodiscard]] bool is_stale(const Call& call) const noexcept;
    [[nodiscard]] Call& next(PeerBook& book) noexcept;
    [[gnu::noinline]] void send_queued(PeerBook& book) noexcept;
    void look_again(PeerBook& book) noexcept;

    ContextBase& base_;
    Replies& replies_;
    std::size_t bytes_ = 0;
    std::uint32_t calls_ = 0;
    Origin& origin_;
    Control& control_;
    Peers& peers_;
};

}  // namespace cinnabar::rpc
