// SPDX-License-Identifier: BSD-3-Clause
// Credits ensure that every message finds a posted receive slot: one credit is one slot. The receiver grants a window
// of credits in its greeting; a message, or the notification of a put, uses one. When another slot has been posted, the
// receiver returns the credit in the header of the next message in the other direction. If there is no such message,
// the receiver sends a credit message when half of the window can be returned; a credit message needs no credit, but a
// slot: see control_slots. Owner of the context only.
#pragma once

#include <cstdint>
#include <utility>

namespace cinnabar::verbs {

inline constexpr std::uint32_t window_min = 4;
inline constexpr std::uint32_t window_max = 64;

// The number of slots for credit messages. At most two credit messages are unread at the other side: each returns half
// of a window, so before the next one is sent, the other side must have used as many credits again, and must have read
// the message before the last. The third slot is for rounding.
inline constexpr std::uint32_t control_slots = 3;

// The credits with which this side sends.
class SendCredits {
  public:
    void open(std::uint32_t window) noexcept { left_ = window_ = window; }
    [[nodiscard]] bool any() const noexcept { return left_ > 0; }
    void take() noexcept { --left_; }
    // Call when credits were returned. False: more than were taken.
    [[nodiscard]] bool give_back(std::uint32_t count) noexcept {
        if (count > window_ - left_) return false;
        left_ += count;
        return true;
    }

  private:
    std::uint32_t window_ = 0;
    std::uint32_t left_ = 0;
};

// The credits with which the other side sends.
class ReceiveCredits {
  public:
    void open(std::uint32_t window) noexcept {
        window_ = window;
        used_ = returnable_ = 0;
    }
    [[nodiscard]] std::uint32_t window() const noexcept { return window_; }
    // Call when a message has arrived. False: the other side had no credit for it.
    [[nodiscard]] bool came() noexcept {
        if (used_ == window_) return false;
        ++used_;
        return true;
    }
    // Call when the message's slot, or another in its place, was posted again.
    void posted_again() noexcept { ++returnable_; }
    // Takes all credits that can be returned, for the next header.
    [[nodiscard]] std::uint16_t give_back() noexcept {
        used_ -= returnable_;
        return static_cast<std::uint16_t>(std::exchange(returnable_, 0));
    }
    // Whether enough credits can be returned that a credit message must be sent.
    [[nodiscard]] bool must_tell() const noexcept { return returnable_ > 0 && returnable_ >= window_ / 2; }

  private:
    std::uint32_t window_ = 0;
    std::uint32_t used_ = 0;        // messages that have arrived and whose credit has not been returned
    std::uint32_t returnable_ = 0;  // of those, the ones whose credit can be returned
};

}  // namespace cinnabar::verbs
