// SPDX-License-Identifier: BSD-3-Clause
// Replies that this side waits for: reserves receive slots for them before their calls are sent, and matches each reply
// to its call. Owner of the context only.
#pragma once

#include "frame.hpp"
#include "peer_book.hpp"

namespace cinnabar::rpc {

class Replies {
  public:
    explicit Replies(ContextCore& core) noexcept : core_(core) {}

    // Sets the number of receive slots for replies.
    void limit(std::uint32_t slots) noexcept { slots_max_ = slots; }
    [[nodiscard]] std::uint32_t expected() const noexcept { return expected_; }
    [[nodiscard]] std::uint32_t kept() const noexcept { return kept_; }
    [[nodiscard]] bool has_slot() const noexcept { return expected_ + kept_ < slots_max_; }
    [[nodiscard]] bool add_up() const noexcept { return expected_ + kept_ <= slots_max_; }

    // Call when a call that needs a reply is being sent.
    void expect(PeerBook& book) noexcept {
        ++book.replies_pending;
        ++expected_;
    }
    // Call when a slot is free again; wakes a peer that waits for one.
    [[gnu::always_inline]] void settle(PeerBook& book) noexcept {
        if (book.replies_pending == 0) return;
        --book.replies_pending;
        --expected_;
        if (!waiters_.empty()) wake_waiter();
    }
    // Frees the slots of all replies of that peer: the connection was lost, and none will come.
    void settle_all(PeerBook& book) noexcept;
    // Queues a book that needs only a free slot to send a call.
    void wait(PeerBook& book) noexcept {
        if (!book.reply_waiter.linked) waiters_.push_back(book);
    }
    void stop_waiting(PeerBook& book) noexcept {
        if (book.reply_waiter.linked) waiters_.remove(book);
    }
    [[gnu::noinline]] void wake_waiter() noexcept;

    void on_expected(na::Arrival& arrival) noexcept;
    // Frees what keep() has kept.
    void release(Call& call) noexcept;

  private:
    [[nodiscard]] bool take_plain(PeerBook& book, na::Arrival& arrival, bool timed) noexcept;
    [[gnu::noinline]] void take_other(na::Arrival& arrival) noexcept;
    [[gnu::noinline]] void take_any(na::Arrival& arrival) noexcept;
    void take_times(PeerBook& book, Call& call, ConstBytes target_times, TimeUs now) noexcept;
    [[gnu::cold, gnu::noinline]] void take_unusual_times(PeerBook& book, Call& call, ConstBytes target_times) noexcept;
    [[nodiscard, gnu::cold, gnu::noinline]] static TimedCalls* begin_timing(PeerBook& book) noexcept;
    [[nodiscard]] static bool copy_small(Call& call, ConstBytes payload, ConstBytes& kept) noexcept;
    [[nodiscard]] Errc keep(Call& call, na::Arrival& arrival, ConstBytes payload, ConstBytes& kept) noexcept;
    void accept(Call& call, na::Arrival& arrival, const ReplyHeader& header, ConstBytes payload) noexcept;

    ContextCore& core_;
    std::uint32_t expected_ = 0;  // of all peers
    std::uint32_t kept_ = 0;      // kept, with their receive slots
    std::uint32_t slots_max_ = 0;
    IntrusiveList<PeerBook, &PeerBook::reply_waiter> waiters_;
};

}  // namespace cinnabar::rpc
