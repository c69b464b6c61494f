// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <new>

struct hg_poll_set {
    int fd;
    std::atomic<int> members{0};
};

namespace {

// The most events that one call returns; further ones are returned by the next.
constexpr unsigned events_max = 64;

std::uint32_t to_epoll(std::uint32_t events) {
    return (events & HG_POLLIN ? EPOLLIN : 0u) | (events & HG_POLLOUT ? EPOLLOUT : 0u);
}

std::uint32_t from_epoll(std::uint32_t events) {
    std::uint32_t ours = (events & EPOLLIN ? HG_POLLIN : 0u) | (events & EPOLLOUT ? HG_POLLOUT : 0u);
    if (events & EPOLLERR) return ours | HG_POLLERR;
    return events & EPOLLHUP ? ours | HG_POLLHUP : ours;
}

}  // namespace

hg_poll_set_t* hg_poll_create(void) {
    const int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) return nullptr;
    auto* const set = new (std::nothrow) hg_poll_set{fd};
    if (set == nullptr) close(fd);
    return set;
}

int hg_poll_destroy(hg_poll_set_t* poll_set) {
    if (poll_set == nullptr) return HG_UTIL_SUCCESS;
    if (poll_set->members != 0) return HG_UTIL_FAIL;
    close(poll_set->fd);
    delete poll_set;
    return HG_UTIL_SUCCESS;
}

int hg_poll_get_fd(const hg_poll_set_t* poll_set) { return poll_set->fd; }

int hg_poll_add(hg_poll_set_t* poll_set, int fd, struct hg_poll_event* event) {
    epoll_event wanted{};
    wanted.events = to_epoll(event->events);
    wanted.data.u64 = event->data.u64;
    if (epoll_ctl(poll_set->fd, EPOLL_CTL_ADD, fd, &wanted) != 0) return HG_UTIL_FAIL;
    ++poll_set->members;
    return HG_UTIL_SUCCESS;
}

int hg_poll_remove(hg_poll_set_t* poll_set, int fd) {
    if (epoll_ctl(poll_set->fd, EPOLL_CTL_DEL, fd, nullptr) != 0) return HG_UTIL_FAIL;
    --poll_set->members;
    return HG_UTIL_SUCCESS;
}

int hg_poll_wait(hg_poll_set_t* poll_set, unsigned int timeout, unsigned int max_events, struct hg_poll_event events[],
                 unsigned int* actual_events) {
    std::array<epoll_event, events_max> found;
    const int room = static_cast<int>(std::min(max_events, events_max));
    const int wait_ms = static_cast<int>(std::min<unsigned>(timeout, INT_MAX));
    *actual_events = 0;
    const int count = epoll_wait(poll_set->fd, found.data(), room, wait_ms);
    if (count < 0 && errno == EINTR) {
        events[0].events = HG_POLLINTR;
        *actual_events = 1;
        return HG_UTIL_SUCCESS;
    }
    if (count < 0) return HG_UTIL_FAIL;
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = found[static_cast<unsigned>(i)];
        events[i].events = from_epoll(event.events);
        events[i].data.u64 = event.data.u64;
    }
    *actual_events = static_cast<unsigned>(count);
    return HG_UTIL_SUCCESS;
}
