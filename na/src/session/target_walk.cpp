// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/session/target_walk.hpp>

#include <utility>

namespace cinnabar::na {

TargetWalk::TargetWalk(GoOn go_on, void* user) noexcept : go_on_(go_on), user_(user) {
    question_.user = this;
    question_.answered = &TargetWalk::names_answered;
}

void TargetWalk::begin(std::span<const SocketAddress> known, std::span<const Uri> names) noexcept {
    targets_ = known;
    names_ = names;
    next_ = 0;
}

Errc TargetWalk::next(PortHost& host, Errc why, SocketAddress& target) noexcept {
    if (left() == 0) {
        if (names_.empty()) return why;
        const bool tried = begun();
        std::vector<SocketAddress> found;
        const Errc known = question_.ask(host, std::exchange(names_, {}), found);
        if (known == Errc::again) return known;
        if (known != Errc::ok) return tried ? why : known;
        take(std::move(found));
    }
    target = targets_[next_++];
    return Errc::ok;
}

void TargetWalk::take(std::vector<SocketAddress> found) noexcept {
    found_ = std::move(found);
    targets_ = found_;
    next_ = 0;
}

void TargetWalk::names_answered(NameQuestion& question, Errc why, std::vector<SocketAddress> found) noexcept {
    TargetWalk& self = *static_cast<TargetWalk*>(question.user);
    self.take(std::move(found));
    self.go_on_(self.user_, why == Errc::ok ? Errc::unreachable : why);
}

}  // namespace cinnabar::na
