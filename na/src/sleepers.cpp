// SPDX-License-Identifier: BSD-3-Clause
#include "sleepers.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace cinnabar::na {

bool Sleepers::open(int epoll) noexcept {
    bell_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    return bell_ && ::epoll_ctl(epoll, EPOLL_CTL_ADD, bell_.get(), &event) == 0;
}

void Sleepers::ring() noexcept {
    const std::uint64_t one = 1;
    rings_.fetch_add(1, std::memory_order_relaxed);
    (void)!::write(bell_.get(), &one, sizeof one);
}

void Sleepers::add(TimeUs until) noexcept {
    const bool alone = count_.load(std::memory_order_relaxed) == 0;
    set_until(alone ? until : std::min(until, this->until()));
    count_.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace cinnabar::na
