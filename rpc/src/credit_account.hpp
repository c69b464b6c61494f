// SPDX-License-Identifier: BSD-3-Clause
// The credit account that a target keeps for one peer. A credit is the right to send one request. At any time each
// credit of the budget is in one of three states:
//
//     granted     held by the peer, or used by a request that is on its way
//     held        used by a request that has arrived and still has its receive slot
//     returnable  back at the target, and may be granted again
//
// A credit comes back when the receive slot of its request is free (decision 5). A returned credit is not granted again
// while too many replies to the peer were not sent (decision 23). This class is only arithmetic. CreditPool decides
// which credits are granted again: with replies (for_reply), or by a `grant` to a peer that has none. The origin
// receives credits in replies.cpp and control.cpp. Owner of the context only.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/timer_wheel.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cinnabar::rpc {

class CreditAccount {
  public:
    // Frames carry credits as 16 bits.
    static constexpr std::uint32_t budget_max = 0xffff;

    // Call when a connection begins: the peer has its `first` credits. No more credits are granted while `unsent_max`
    // replies to the peer are unsent.
    void open(std::uint32_t first, std::uint32_t unsent_max) noexcept;
    // Call when the connection was lost, and all its credits with it. Returns the budget that it had.
    std::uint32_t close() noexcept;

    [[nodiscard]] std::uint32_t budget() const noexcept { return budget_; }
    [[nodiscard]] std::uint32_t granted() const noexcept { return granted_; }
    [[nodiscard]] std::uint32_t returnable() const noexcept { return returnable_; }
    [[nodiscard]] std::uint32_t held() const noexcept { return budget_ - granted_ - returnable_; }
    // Whether the peer has no credits although some could be granted.
    [[nodiscard]] bool starving() const noexcept { return granted_ == 0 && returnable_ != 0; }

    // Call when a request has arrived. False: the peer had no credit for it.
    [[nodiscard]] bool spend() noexcept {
        if (granted_ == 0) return false;
        --granted_;
        ++came_;
        return true;
    }
    // Call when the receive slot of a request is free. Requires: the request held its credit, of this connection.
    void return_one() noexcept {
        ++returnable_;
        CINNABAR_DEBUG_ASSERT(adds_up());
    }
    // As return_one(), but destroys the credit. False: nothing has changed, because the credit is the last one of the
    // budget.
    [[nodiscard]] bool retire() noexcept;
    // Call when a request was freed, whatever happened to its credit.
    void request_over() noexcept { ++over_; }
    // Makes more credits, which are returnable.
    void grow(std::uint32_t more) noexcept;

    // Whether credits may be granted: not while too many replies are unsent, or credits are withheld.
    [[nodiscard]] bool may_give() const noexcept { return unsent() < unsent_max_; }
    // Sets whether credits are withheld. Credits are withheld while the peer leaves too many large results unfetched,
    // including results of its earlier connections.
    void withhold(bool withheld) noexcept;
    [[nodiscard]] bool withheld() const noexcept { return withheld_; }
    // Grants all returnable credits, and returns their number. Requires: may_give().
    [[nodiscard]] std::uint16_t give() noexcept {
        const std::uint32_t count = std::exchange(returnable_, 0);
        granted_ += count;
        return static_cast<std::uint16_t>(count);
    }
    // Call when the message with these credits was not sent.
    void take_back(std::uint32_t count) noexcept;

    // Whether the peer has announced that it has more to send, and has not been given more credits yet.
    [[nodiscard]] bool wants_credits() const noexcept { return wants_credits_; }
    void set_wants_credits(bool wants_credits) noexcept { wants_credits_ = wants_credits; }

    // These functions count the replies to the peer that were begun and not sent, including replies of earlier
    // connections.
    void reply_begins() noexcept { ++begun_; }
    void reply_left() noexcept { ++left_; }
    void reply_begins_later() noexcept { --begun_; }
    [[nodiscard]] std::uint32_t unsent() const noexcept { return begun_ - left_; }
    // Requests of the peer that are here, including those of earlier connections.
    [[nodiscard]] std::uint32_t requests() const noexcept { return came_ - over_; }
    // The number of these requests that are not merely waiting for their reply to be sent.
    [[nodiscard]] std::uint32_t handling() const noexcept { return requests() - unsent(); }

    // Marks the replies begun so far. unsent_since_mark(): how many of them have not been sent yet.
    void mark_unsent() noexcept { marked_ = begun_; }
    [[nodiscard]] std::uint32_t unsent_since_mark() const noexcept {
        // Replies that were removed from the queue with their connection do not count.
        return static_cast<std::int32_t>(marked_ - left_) > 0 ? std::min(marked_ - left_, unsent()) : 0;
    }

    // What look() decides for a peer that may have more than `keep` credits without using them. look() is called for
    // each peer in turn while other peers need credits. If the peer has sent nothing since the last check and waits for
    // no reply, look() also destroys returnable credits of the peer until `keep` credits are left, so the budget
    // shrinks at once.
    enum class Recall : std::uint8_t {
        no,       // the peer uses its credits, has few, or may still answer a recall
        ask,      // the peer has sent nothing since the last check: send a recall
        overdue,  // first asked `answer_max` ago, the peer has neither returned nor used its credits
    };
    [[nodiscard]] Recall look(std::uint32_t keep, TimeUs now, Microseconds answer_max) noexcept;
    // Handles the answer to a recall: the peer gives back `count` credits. Returns by how many credits the budget
    // shrinks: at most the number that was granted, and 0 without a recall.
    [[nodiscard]] std::uint32_t returned(std::uint32_t count) noexcept;

    WheelTimer starved;  // runs while the peer is starving

  private:
    // The invariant, which is checked after all operations but spend() and give(), which cannot violate it.
    // Peers::add_up checks `held` against the requests.
    [[nodiscard]] bool adds_up() const noexcept { return granted_ + returnable_ <= budget_; }

    std::uint32_t budget_ = 0;
    std::uint32_t granted_ = 0;
    std::uint32_t returnable_ = 0;
    std::uint32_t unsent_max_ = 0;  // unsent_share_, or 0 while credits are withheld
    // Counters that may wrap; only their differences are used.
    std::uint32_t came_ = 0;
    std::uint32_t over_ = 0;
    std::uint32_t begun_ = 0;
    std::uint32_t left_ = 0;
    std::uint32_t marked_ = 0;  // begun_ at mark_unsent()
    std::uint32_t came_at_look_ = 0;
    std::uint32_t unsent_share_ = 0;  // the limit while credits are not withheld
    TimeUs asked_ = 0;                // when the peer was first asked for its unused credits; 0: not asked
    bool wants_credits_ = false;
    bool withheld_ = false;
    bool recalled_ = false;  // a recall was sent and not answered
};

}  // namespace cinnabar::rpc
