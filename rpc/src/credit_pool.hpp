// SPDX-License-Identifier: BSD-3-Clause
// The credits for requests that all peers of a context have together: made, granted, returned, recalled and destroyed.
// What one peer has is its account (credits.hpp). Owner of the context only.
#pragma once

#include "peer_book.hpp"

#include <cinnabar/rpc/options.hpp>

namespace cinnabar::rpc {

class CreditPool {
  public:
    // At most `requests_max` requests have a slot at a time.
    CreditPool(ContextCore& core, const Options& options, std::uint32_t requests_max) noexcept;

    // So many receive slots are for requests, up to which budgets grow.
    void limit(std::uint32_t slots) noexcept { slots_max_ = slots; }
    [[nodiscard]] std::uint32_t made() const noexcept { return made_; }
    // Replies that were posted, or wait to be, and have not left.
    [[nodiscard]] std::uint32_t replies_unsent() const noexcept { return replies_unsent_; }

    void open(PeerBook& book) noexcept;
    void close(PeerBook& book) noexcept { made_ -= book.account.close(); }

    // What goes along with a reply: what came back, and more for a peer that asks. None while too many replies to it
    // have not left.
    [[nodiscard]] std::uint16_t for_reply(PeerBook& book) noexcept;
    // The receive slot of a request is free again, and so is the credit that it stood for.
    void come_back(Request& request) noexcept;
    // A request that is turned away for want of room takes its credit along: the peer comes back with less at a time.
    void retire(PeerBook& book) noexcept;
    // Called whenever a credit was used or came back and the peer has none. It is told by a message of its own if no
    // reply does it in a moment: handlers may be holding all that it has sent.
    [[gnu::noinline]] void watch_starving(PeerBook& book) noexcept;
    // The peer answers a recall.
    void returned(PeerBook& book, std::uint32_t credits) noexcept;
    // As origin, asked by a recall: gives back what no call can use now.
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

    // For debug builds: so much was made for that many connections, and so many replies have not left.
    [[nodiscard]] bool adds_up(std::uint32_t made, std::uint32_t connections, std::uint32_t unsent) const noexcept;

  private:
    [[nodiscard]] std::uint32_t first() const noexcept;
    [[gnu::noinline]] void grow(PeerBook& book) noexcept;
    void grant_if_starved(PeerBook& book) noexcept;
    void recall_idle() noexcept;

    ContextCore& core_;
    // What one peer may have of the request slots, so that there is room for others (docs/limits.md): credits; replies
    // that have not left, beyond which it gets no credits.
    const std::uint32_t peer_budget_max_;
    const std::uint32_t peer_unsent_max_ = std::max(peer_budget_max_, 1u);
    std::uint32_t made_ = 0;  // of all peers
    std::uint32_t slots_max_ = 0;
    std::uint32_t next_ = 0;  // the book that recall_idle() looks at next
    std::uint32_t replies_unsent_ = 0;
};

}  // namespace cinnabar::rpc
