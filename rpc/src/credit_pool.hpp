// SPDX-License-Identifier: BSD-3-Clause
// The credits for requests of all peers of a context: made, granted, returned, recalled and destroyed. The account of
// one peer is in credit_account.hpp. Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <algorithm>
#include <cstdint>

namespace cinnabar::rpc {

class Control;
class Peers;

class CreditPool {
  public:
    // `requests_max`: the number of slots for requests.
    CreditPool(ContextBase& base, Peers& peers, Control& control, std::uint32_t requests_max) noexcept;

    // Sets the number of receive slots for requests, which limits the budgets.
    void limit(std::uint32_t slots) noexcept { slots_max_ = slots; }
    // Some transports have more receive slots the more connections there are (na::receive_slots_for). From now on, each
    // connection over such a transport adds to the slots that limit the budgets. `limits`: those of the transport that
    // has the fewest slots among them; they must outlive this object.
    void grow_slots_by(const na::Limits& limits) noexcept { growing_ = &limits; }
    [[nodiscard]] std::uint32_t made() const noexcept { return made_; }
    // Replies that were begun and not sent: posted, or waiting for room in the transport.
    [[nodiscard]] std::uint32_t replies_unsent() const noexcept { return replies_unsent_; }

    void open(PeerBook& book) noexcept;
    void close(PeerBook& book) noexcept;

    // Returns the number of credits to send with a reply: those that came back, and more for a peer that asks for them.
    // 0 while too many replies to the peer are unsent.
    [[nodiscard]] std::uint16_t for_reply(PeerBook& book) noexcept {
        CreditAccount& account = book.account;
        if (!account.may_give()) return 0;
        if (account.wants_credits()) grow(book);
        const std::uint16_t given = account.give();
        if (account.starved.armed() && given != 0) base_.na->disarm(account.starved);
        return given;
    }
    // Call when the receive slot of a request is free, so that its credit can be granted again.
    void return_one(Request& request) noexcept;
    // Frees the receive slot of the request, if it still holds one; its credit can be granted again.
    void return_slot(Request& request) noexcept {
        if (request.holds_slot()) {
            if (!base_.closed_) request.kept_.port->release(request.kept_);
            request.kept_ = {};
        }
        if (!request.use_.credit_returned) return_one(request);
    }
    // Call when a request is refused for lack of room. Destroys the request's credit, so that the peer sends fewer
    // requests at a time.
    void retire(PeerBook& book) noexcept;
    // Call whenever a credit was used or came back and the peer has none. If no reply brings credits within a moment,
    // this side sends them in a grant, because handlers may be holding all requests of the peer.
    [[gnu::noinline]] void watch_starving(PeerBook& book) noexcept;
    // The answer of a peer to a recall.
    void returned(PeerBook& book, std::uint32_t credits) noexcept;
    // As origin, after a recall: returns the credits that no call can use now.
    void give_back(PeerBook& book, std::uint32_t keep) noexcept;

    void reply_begins(PeerBook& book) noexcept {
        ++replies_unsent_;
        book.account.reply_begins();
    }
    void reply_begins_later(PeerBook& book) noexcept {
        book.account.reply_begins_later();
        --replies_unsent_;
    }
    void reply_left(PeerBook& book) noexcept {
        book.account.reply_left();
        --replies_unsent_;
    }

    // For debug builds. The arguments are counted from the books: credits made, open connections, replies not sent.
    [[nodiscard]] bool adds_up(std::uint32_t made, std::uint32_t connections, std::uint32_t unsent) const noexcept;

  private:
    [[nodiscard]] std::uint32_t first() const noexcept;
    [[nodiscard]] bool adds_slots(const PeerBook& book) const noexcept;
    [[nodiscard]] std::uint32_t slots_for(std::uint32_t connections) const noexcept;
    [[gnu::noinline]] void grow(PeerBook& book) noexcept;
    void grant_if_starved(PeerBook& book) noexcept;
    void recall_idle() noexcept;

    ContextBase& base_;
    Peers& peers_;
    Control& control_;
    // Limits of one peer, which leave request slots for other peers (docs/limits.md): the maximum number of its
    // credits, and the number of unsent replies to it at which it gets no more credits.
    const std::uint32_t peer_budget_max_;
    const std::uint32_t peer_unsent_max_ = std::max(peer_budget_max_, 1u);
    std::uint32_t made_ = 0;  // of all peers
    std::uint32_t slots_max_ = 0;
    const na::Limits* growing_ = nullptr;    // null: the slots do not grow
    std::uint32_t growing_connections_ = 0;  // connections over transports whose slots grow
    std::uint32_t next_ = 0;                 // the book that recall_idle() looks at next
    std::uint32_t refused_ = 0;              // how often a peer could not get more credits
    TimeUs turn_at_ = 0;                     // when recall_idle() may begin with the first book again
    std::uint32_t replies_unsent_ = 0;
};

}  // namespace cinnabar::rpc
