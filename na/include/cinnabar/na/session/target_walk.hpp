// SPDX-License-Identifier: BSD-3-Clause
// The addresses that a dial tries, one after the other: first the known addresses; if none of these answers, the
// addresses of the host names. Embedded in a dial. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/resolver.hpp>

#include <span>
#include <vector>

namespace cinnabar::na {

class CINNABAR_API TargetWalk {
  public:
    // Called when the look-up of the names has ended; the dial then calls next() with `why`.
    using GoOn = void (*)(void* user, Errc why) noexcept;

    TargetWalk(GoOn go_on, void* user) noexcept;

    // Both arguments must live until the walk ends.
    void begin(std::span<const SocketAddress> known, std::span<const Uri> names) noexcept;
    // Finds the next address to try. `why`: why the previous address failed. ok: try `target` next. again: names are
    // being resolved, and go_on is called later. Any other result: no address is left, and this is the result of the
    // dial.
    [[nodiscard]] Errc next(PortHost& host, Errc why, SocketAddress& target) noexcept;
    // Ends the walk: go_on is not called any more.
    void abandon() noexcept { question_.abandon(); }

    // left(): how many of the addresses known so far have not been tried yet. begun(): whether any has been tried.
    [[nodiscard]] std::size_t left() const noexcept { return targets_.size() - next_; }
    [[nodiscard]] bool begun() const noexcept { return next_ > 0; }

  private:
    static void names_answered(NameQuestion& question, Errc why, std::vector<SocketAddress> found) noexcept;
    void take(std::vector<SocketAddress> found) noexcept;

    const GoOn go_on_;
    void* const user_;
    std::span<const SocketAddress> targets_;
    std::span<const Uri> names_;  // not resolved yet
    NameQuestion question_;
    std::vector<SocketAddress> found_;  // what the names resolved to
    std::size_t next_ = 0;
};

}  // namespace cinnabar::na
