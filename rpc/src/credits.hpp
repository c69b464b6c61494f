// SPDX-License-Identifier: BSD-3-Clause
// The account of requests that a target keeps of one peer. A credit is the right to send one request. At any time each
// credit of the budget is in one of three places:
//
//     granted     in the peer's hands, or with a request that is on its way
//     held        with a request that is here and still has its receive slot
//     returnable  back here, free to be granted again
//
// A credit comes back when the receive slot of its request is free (decision 5). It is not granted again while too many
// replies to the peer have not left (decision 23). Pure arithmetic; who sends and when is in credit_pool.cpp. Owner of
// the context only.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/timer_wheel.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cinnabar::rpc {

class Credits {
  public:
    // The wire carries credits in 16 bits.
    static constexpr std::uint32_t budget_max = 0xffff;

    // A connection begins, with its first credits in the peer's hands. Nothing more is granted while `unsent_max`
    // replies have not left.
    void open(std::uint32_t first, std::uint32_t unsent_max) noexcept;
    // The connection is gone, and its credits with it. Returns what the budget was.
    std::uint32_t close() noexcept;

    [[nodiscard]] std::uint32_t budget() const noexcept { return budget_; }
    [[nodiscard]] std::uint32_t granted() const noexcept { return granted_; }
    [[nodiscard]] std::uint32_t returnable() const noexcept { return returnable_; }
    [[nodiscard]] std::uint32_t held() const noexcept { return budget_ - granted_ - returnable_; }
    // The peer has no credit, and some could be granted.
    [[nodiscard]] bool starving() const noexcept { return granted_ == 0 && returnable_ != 0; }

    // A request came. False: the peer had no credit for it.
    [[nodiscard]] bool spend() noexcept {
        if (granted_ == 0) return false;
        --granted_;
        ++came_;
        return true;
    }
    // The receive slot of a request is free. Requires: the request held its credit, of this connection.
    void come_back() noexcept {
        ++returnable_;
        CINNABAR_DEBUG_ASSERT(adds_up());
    }
    // The same, but the credit is gone for good. False, and nothing is changed: it is the last one.
    [[nodiscard]] bool retire() noexcept;
    // A request is over, whatever became of its credit.
    void request_over() noexcept { ++over_; }
    // Makes more credits, which are returnable.
    void grow(std::uint32_t more) noexcept;

    // Whether credits may be granted: not while too many replies have not left, or credits are withheld.
    [[nodiscard]] bool may_give() const noexcept { return unsent() < unsent_max_; }
    // Call while the peer leaves too many large results unfetched, on whichever of its connections.
    void withhold(bool withheld) noexcept;
    [[nodiscard]] bool withheld() const noexcept { return withheld_; }
    // Grants all that is returnable, and returns how much that is. Requires: may_give().
    [[nodiscard]] std::uint16_t give() noexcept {
        const std::uint32_t count = std::exchange(returnable_, 0);
        granted_ += count;
        return static_cast<std::uint16_t>(count);
    }
    // The message that was to carry them was not sent.
    void take_back(std::uint32_t count) noexcept;

    // The peer said that it has more to send, and was not given more yet.
    [[nodiscard]] bool hungry() const noexcept { return hungry_; }
    void set_hungry(bool hungry) noexcept { hungry_ = hungry; }

    // Replies to the peer that wait in the transport, or for it; also those of connections before this one.
    void reply_begins() noexcept { ++begun_; }
    void reply_left() noexcept { ++left_; }
    void reply_begins_later() noexcept { --begun_; }
    [[nodiscard]] std::uint32_t unsent() const noexcept { return begun_ - left_; }
    // Requests of the peer that are here; also those of connections before this one.
    [[nodiscard]] std::uint32_t requests() const noexcept { return came_ - over_; }
    // Of these, the ones that wait for more than their reply to leave.
    [[nodiscard]] std::uint32_t handling() const noexcept { return requests() - unsent(); }

    // Which replies are old: those that begin before the mark and have not left when old_debt() is asked.
    void mark_debt() noexcept { marked_ = begun_; }
    [[nodiscard]] std::uint32_t old_debt() const noexcept {
        // Those that were taken out of the queue with their connection are nobody's debt.
        return static_cast<std::int32_t>(marked_ - left_) > 0 ? std::min(marked_ - left_, unsent()) : 0;
    }

    // Idle credits are recalled, down to `keep`. Called for each peer in turn while others want more.
    enum class Recall : std::uint8_t {
        no,       // it uses them, has few, or was asked and may still answer
        ask,      // it has sent nothing since the last look: ask it
        overdue,  // asked `answer_max` ago, it has not answered, or again and again that it needs what it does not use
    };
    [[nodiscard]] Recall look(std::uint32_t keep, TimeUs now, Microseconds answer_max) noexcept;
    // It answered. Returns what the budget shrinks by: no more than was granted, nothing if it was not asked.
    [[nodiscard]] std::uint32_t returned(std::uint32_t count) noexcept;

    Timer starved;  // runs while the peer is starving

  private:
    // What spend() and give() cannot break is asserted after all else. That `held` is what the requests say is checked
    // by Peers::add_up.
    [[nodiscard]] bool adds_up() const noexcept { return granted_ + returnable_ <= budget_; }

    std::uint32_t budget_ = 0;
    std::uint32_t granted_ = 0;
    std::uint32_t returnable_ = 0;
    std::uint32_t unsent_max_ = 0;  // 0 while credits are withheld
    // Counts that wrap; only their differences mean something.
    std::uint32_t came_ = 0;
    std::uint32_t over_ = 0;
    std::uint32_t begun_ = 0;
    std::uint32_t left_ = 0;
    std::uint32_t marked_ = 0;  // begun_ at the mark
    std::uint32_t came_at_look_ = 0;
    std::uint32_t unsent_share_ = 0;  // the value of unsent_max_ while credits are not withheld
    TimeUs asked_ = 0;                // since when it was asked for unused credits, and neither returned nor used them
    bool hungry_ = false;
    bool withheld_ = false;
    bool recalled_ = false;  // asked, not answered
};

}  // namespace cinnabar::rpc
