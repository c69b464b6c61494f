// SPDX-License-Identifier: BSD-3-Clause
#include "newcomers.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr unsigned accepts_max = 32;  // in one go
constexpr TimeUs pause_us = 100'000;  // without descriptors, nothing is accepted for this long

}  // namespace

Newcomers::Newcomers(ShmPort& port) noexcept : port_(port), pool_(Threads::one, unknown_max) {
    pause_.owner = this;
    pause_.fire = &Newcomers::resume;
}

void Newcomers::close() noexcept {
    port_.host().disarm(pause_);
    unwatch();
    while (Newcomer* newcomer = waiting_.front()) newcomer->drop();
}

bool Newcomers::watch() noexcept {
    if (port_.transport().listener() < 0 || watching_) return true;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLEXCLUSIVE;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    watching_ = ::epoll_ctl(port_.host().epoll_fd(), EPOLL_CTL_ADD, port_.transport().listener(), &event) == 0;
    return watching_;
}

void Newcomers::unwatch() noexcept {
    if (!watching_) return;
    (void)::epoll_ctl(port_.host().epoll_fd(), EPOLL_CTL_DEL, port_.transport().listener(), nullptr);
    watching_ = false;
}

void Newcomers::on_ready(std::uint32_t) noexcept {
    for (unsigned i = 0; i < accepts_max && watching_; ++i) {
        UniqueFd fd(::accept4(port_.transport().listener(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            const int why = errno;
            if (why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM) out_of_descriptors(why);
            if (why != ECONNABORTED && why != EINTR) return;
            continue;
        }
        complained_ = false;
        admit(std::move(fd));
    }
}

void Newcomers::admit(UniqueFd fd) noexcept {
    // What has been silent longest makes room.
    if (pool_.taken() == unknown_max) waiting_.front()->drop();
    Newcomer* newcomer = pool_.acquire();
    if (!newcomer) return;
    waiting_.push_back(*newcomer);
    newcomer->start(port_, std::move(fd));
    newcomer->on_ready(EPOLLIN);  // callers greet as soon as they are in the queue
}

void Newcomers::left(Newcomer& newcomer) noexcept {
    waiting_.remove(newcomer);
    pool_.release(newcomer);
}

// The backlog would wake the context again and again.
void Newcomers::out_of_descriptors(int os_errno) noexcept {
    if (!complained_) {
        log(LogLevel::warning, "shm: cannot accept connections: %s; raise the limit of open files",
            std::strerror(os_errno));
        complained_ = true;
    }
    if (!waiting_.empty()) return waiting_.front()->drop();
    unwatch();
    port_.host().arm(pause_, port_.host().now_us() + pause_us);
}

void Newcomers::resume(Timer& timer) noexcept {
    Newcomers& self = TimerOf<Newcomers>::owner_of(timer);
    if (!self.watch()) self.port_.host().arm(self.pause_, self.port_.host().now_us() + pause_us);
}

}  // namespace cinnabar::shm
