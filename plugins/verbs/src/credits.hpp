// SPDX-License-Identifier: BSD-3-Clause
// The books that keep every message in a posted receive slot. One credit is one slot: the receiver grants a window of
// them in its greeting, a message (or the notification of a put) takes one, and it comes back, in the header of
// whatever goes the other way, as soon as another slot is posted in its place. With nothing to carry it, a message of
// its own goes when half of the window is owed; it needs no credit, but slots: see control_slots. Owner of the context
// only.
#pragma once

#include <cstdint>

namespace cinnabar::verbs {

inline constexpr std::uint32_t window_min = 4;
inline constexpr std::uint32_t window_max = 64;

// Credit messages that can be unread at the other side: each tells of half of a window that the other side has used
// since it could have read the one before last, so that two are the most, and a third is room for rounding.
inline constexpr std::uint32_t control_slots = 3;

// What this side may send.
class SendCredits {
  public:
    void open(std::uint32_t window) noexcept { left_ = window_ = window; }
    [[nodiscard]] bool any() const noexcept { return left_ > 0; }
    void take() noexcept { --left_; }
    // False: more than were ever taken.
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
    // What a header carries back; nothing is owed afterwards.
    [[nodiscard]] std::uint16_t give_back() noexcept;
    // So much is owed that it must be told even if nothing else goes that way.
    [[nodiscard]] bool must_tell() const noexcept { return owed_ > 0 && owed_ >= window_ / 2; }

  private:
    std::uint32_t window_ = 0;
    std::uint32_t used_ = 0;  // came, and not given back
    std::uint32_t owed_ = 0;  // of them, what can be given back
};

}  // namespace cinnabar::verbs
