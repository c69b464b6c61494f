// SPDX-License-Identifier: BSD-3-Clause
// Credits: every message finds a posted receive slot. One credit is one slot. The receiver grants a window of credits
// in its greeting; a message, or the notification of a put, takes one. The receiver returns it, once another slot is
// posted, in the header of the next message in the other direction. If there is none, it sends a credit message when
// half of the window can be returned; that needs no credit, but a slot: see control_slots. Owner of the context only.
#pragma once

#include <cstdint>

namespace cinnabar::verbs {

inline constexpr std::uint32_t window_min = 4;
inline constexpr std::uint32_t window_max = 64;

// Credit messages that can be unread at the other side. Each returns half of a window, which the other side can only
// have used after it read the one before last. So two are the most, and a third makes up for rounding.
inline constexpr std::uint32_t control_slots = 3;

// What this side may send.
class SendCredits {
  public:
    void open(std::uint32_t window) noexcept { left_ = window_ = window; }
    [[nodiscard]] bool any() const noexcept { return left_ > 0; }
    void take() noexcept { --left_; }
    // False: more than were taken.
    [[nodiscard]] bool give_back(std::uint32_t count) noexcept;

  private:
    std::uint32_t window_ = 0;
    std::uint32_t left_ = 0;
};

// What the other side may send.
class ReceiveCredits {
  public:
    void open(std::uint32_t window) noexcept {
        window_ = window;
        used_ = owed_ = 0;
    }
    [[nodiscard]] std::uint32_t window() const noexcept { return window_; }
    // A message came. False: the other side had no credit for it.
    [[nodiscard]] bool came() noexcept;
    // Its slot, or another, is posted again.
    void posted_again() noexcept { ++owed_; }
    // Takes the credits that the next header returns: all that can be.
    [[nodiscard]] std::uint16_t give_back() noexcept;
    // So many can be returned that a credit message has to be sent.
    [[nodiscard]] bool must_tell() const noexcept { return owed_ > 0 && owed_ >= window_ / 2; }

  private:
    std::uint32_t window_ = 0;
    std::uint32_t used_ = 0;  // messages that came and whose credit is not returned
    std::uint32_t owed_ = 0;  // of them, those whose credit can be returned
};

}  // namespace cinnabar::verbs
