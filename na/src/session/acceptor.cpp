// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/acceptor.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cinnabar::na {
namespace {

constexpr unsigned accepts_max = 4;   // per event; messages of other connections wait meanwhile
constexpr TimeUs pause_us = 100'000;  // how long accepting pauses when descriptors are out

}  // namespace

Acceptor::Acceptor(PortHost& host, const char* scheme) noexcept : host_(host), scheme_(scheme) {
    pause_.bind<&Acceptor::resume>(*this);
}

void Acceptor::stop() noexcept {
    host_.disarm(pause_);
    unwatch();
}

bool Acceptor::watch(int listener) noexcept {
    listener_ = listener;
    return watch_again();
}

bool Acceptor::watch_again() noexcept {
    if (listener_ < 0 || watching_) return true;
    watching_ = host_.watch(listener_, EPOLLIN | EPOLLEXCLUSIVE, *this);
    return watching_;
}

void Acceptor::unwatch() noexcept {
    if (!watching_) return;
    host_.unwatch(listener_);
    watching_ = false;
}

void Acceptor::on_ready(std::uint32_t) noexcept {
    for (unsigned i = 0; i < accepts_max && watching_; ++i) {
        if (!may_accept()) return rest();
        UniqueFd fd(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
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

void Acceptor::out_of_descriptors(int os_errno) noexcept {
    if (!complained_) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, LogModule::named(scheme_),
                    "cannot accept connections: %s; raise the limit of open files", std::strerror(os_errno));
        complained_ = true;
    }
    if (!make_room()) rest();
}

void Acceptor::rest() noexcept {
    unwatch();
    host_.arm(pause_, host_.now_us() + pause_us);
}

void Acceptor::no_memory() const noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, LogModule::named(scheme_), "a connection is dropped: out of memory");
}

void Acceptor::resume() noexcept {
    if (!watch_again()) host_.arm(pause_, host_.now_us() + pause_us);
}

}  // namespace cinnabar::na
