// SPDX-License-Identifier: BSD-3-Clause
// The addresses that a dial tries, one after the other: those that are known, and, when none of them answers, those of
// the names. Embedded in a dial. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/resolver.hpp>

#include <span>
#include <vector>

namespace cinnabar::na {

class CINNABAR_API TargetWalk {
  public:
    // The names have been looked up: the dial calls next() again, with this.
    using GoOn = void (*)(void* user, Errc why) noexcept;

    TargetWalk(GoOn go_on, void* user) noexcept;

    // Both live until the walk ends.
    void begin(std::span<const SocketAddress> known, std::span<const Uri> names) noexcept;
    // `why`: what the address before came to. ok: `target` is the next one. again: the names are looked up, and go_on
    // comes later. Else there is none left, and this is what the dial came to.
    [[nodiscard]] Errc next(PortHost& host, Errc why, SocketAddress& target) noexcept;
    // go_on does not come any more.
    void abandon() noexcept { question_.abandon(); }

    // Of those known by now: how many are left, and whether any was tried.
    [[nodiscard]] std::size_t left() const noexcept { return targets_.size() - next_; }
    [[nodiscard]] bool begun() const noexcept { return next_ > 0; }

  private:
    static void names_answered(NameQuestion& question, Errc why, std::vector<SocketAddress> found) noexcept;
    void take(std::vector<SocketAddress> found) noexcept;

    const GoOn go_on_;
    void* const user_;
    std::span<const SocketAddress> targets_;
    std::span<const Uri> names_;  // not looked up yet
    NameQuestion question_;
    std::vector<SocketAddress> found_;  // the addresses of the names
    std::size_t next_ = 0;
};

}  // namespace cinnabar::na
