// SPDX-License-Identifier: BSD-3-Clause
#include "system_calls.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>

namespace {

// In the order of `names`.
enum class Kind : std::size_t {
    read,
    write,
    readv,
    writev,
    pwrite,
    send,
    recv,
    sendto,
    recvfrom,
    sendmsg,
    recvmsg,
    sendmmsg,
    recvmmsg,
    epoll_wait,
    epoll_pwait,
    epoll_pwait2,
    epoll_ctl,
    poll,
    ppoll,
    timerfd_settime,
    timerfd_gettime,
    setsockopt,
    getsockopt,
    count
};
constexpr auto kinds = static_cast<std::size_t>(Kind::count);
constexpr std::array<const char*, kinds> names{
    "read",     "write",           "readv",           "writev",       "pwrite",    "send",
    "recv",     "sendto",          "recvfrom",        "sendmsg",      "recvmsg",   "sendmmsg",
    "recvmmsg", "epoll_wait",      "epoll_pwait",     "epoll_pwait2", "epoll_ctl", "poll",
    "ppoll",    "timerfd_settime", "timerfd_gettime", "setsockopt",   "getsockopt"};

std::array<std::atomic<std::uint64_t>, kinds> counts{};

struct Moved {
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> calls{0};
};
Moved sent;
Moved received;
thread_local std::uint64_t calls_of_thread = 0;

void count(Kind kind) noexcept {
    counts[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
    ++calls_of_thread;
}

ssize_t add(Moved& to, ssize_t result) noexcept {
    if (result > 0) {
        to.bytes.fetch_add(static_cast<std::uint64_t>(result), std::memory_order_relaxed);
        to.calls.fetch_add(1, std::memory_order_relaxed);
    }
    return result;
}
ssize_t moved(Kind kind, ssize_t result) noexcept {
    switch (kind) {
        case Kind::send:
        case Kind::sendto:
        case Kind::sendmsg:
            return add(sent, result);
        case Kind::recv:
        case Kind::recvfrom:
        case Kind::recvmsg:
            return add(received, result);
        default:
            return result;
    }
}

}  // namespace

namespace cinnabar::support {

std::uint64_t system_calls() noexcept {
    std::uint64_t sum = 0;
    for (const auto& each : counts) sum += each.load(std::memory_order_relaxed);
    return sum;
}

std::uint64_t thread_system_calls() noexcept { return calls_of_thread; }

SocketTraffic socket_traffic() noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    return {sent.bytes.load(relaxed), received.bytes.load(relaxed), sent.calls.load(relaxed),
            received.calls.load(relaxed)};
}

std::string system_calls_by_name() {
    std::string text;
    for (std::size_t i = 0; i < kinds; ++i) {
        const auto calls = counts[i].load(std::memory_order_relaxed);
        if (calls == 0) continue;
        if (!text.empty()) text += ", ";
        text += std::string{names[i]} + " " + std::to_string(calls);
    }
    return text;
}

}  // namespace cinnabar::support

// The linker links calls of x to `__wrap_x`, and `__real_x` to the C library's function.
// NOLINTBEGIN(bugprone-reserved-identifier)
#define CINNABAR_COUNTED(result, name, parameters, arguments)                   \
    extern "C" result __real_##name parameters;                                 \
    extern "C" result __wrap_##name parameters;                                 \
    result __wrap_##name parameters {                                           \
        count(Kind::name);                                                      \
        return static_cast<result>(moved(Kind::name, __real_##name arguments)); \
    }

CINNABAR_COUNTED(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size))
CINNABAR_COUNTED(ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size))
CINNABAR_COUNTED(ssize_t, readv, (int fd, const iovec* parts, int part_count), (fd, parts, part_count))
CINNABAR_COUNTED(ssize_t, writev, (int fd, const iovec* parts, int part_count), (fd, parts, part_count))
CINNABAR_COUNTED(ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))
CINNABAR_COUNTED(ssize_t, send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags))
CINNABAR_COUNTED(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
CINNABAR_COUNTED(ssize_t, sendto,
                 (int fd, const void* from, size_t size, int flags, const sockaddr* to, socklen_t to_size),
                 (fd, from, size, flags, to, to_size))
CINNABAR_COUNTED(ssize_t, recvfrom, (int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* from_size),
                 (fd, to, size, flags, from, from_size))
CINNABAR_COUNTED(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
CINNABAR_COUNTED(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
CINNABAR_COUNTED(int, sendmmsg, (int fd, mmsghdr* messages, unsigned message_count, int flags),
                 (fd, messages, message_count, flags))
CINNABAR_COUNTED(int, recvmmsg, (int fd, mmsghdr* messages, unsigned message_count, int flags, timespec* limit),
                 (fd, messages, message_count, flags, limit))
CINNABAR_COUNTED(int, epoll_wait, (int fd, epoll_event* events, int events_max, int timeout_ms),
                 (fd, events, events_max, timeout_ms))
CINNABAR_COUNTED(int, epoll_pwait, (int fd, epoll_event* events, int events_max, int timeout_ms, const sigset_t* mask),
                 (fd, events, events_max, timeout_ms, mask))
CINNABAR_COUNTED(int, epoll_pwait2,
                 (int fd, epoll_event* events, int events_max, const timespec* timeout, const sigset_t* mask),
                 (fd, events, events_max, timeout, mask))
CINNABAR_COUNTED(int, epoll_ctl, (int fd, int operation, int target, epoll_event* event),
                 (fd, operation, target, event))
CINNABAR_COUNTED(int, poll, (pollfd * fds, nfds_t fd_count, int timeout_ms), (fds, fd_count, timeout_ms))
CINNABAR_COUNTED(int, ppoll, (pollfd * fds, nfds_t fd_count, const timespec* timeout, const sigset_t* mask),
                 (fds, fd_count, timeout, mask))
CINNABAR_COUNTED(int, timerfd_settime, (int fd, int flags, const itimerspec* time, itimerspec* before),
                 (fd, flags, time, before))
CINNABAR_COUNTED(int, timerfd_gettime, (int fd, itimerspec* time), (fd, time))
CINNABAR_COUNTED(int, setsockopt, (int fd, int level, int option, const void* value, socklen_t size),
                 (fd, level, option, value, size))
CINNABAR_COUNTED(int, getsockopt, (int fd, int level, int option, void* value, socklen_t* size),
                 (fd, level, option, value, size))
// NOLINTEND(bugprone-reserved-identifier)
