/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_atomic.h>
#include <mercury_event.h>
#include <mercury_poll.h>
#include <mercury_thread.h>
#include <signal.h>

static unsigned int wait_for(hg_poll_set_t* set, unsigned int timeout, unsigned int max, struct hg_poll_event* events) {
    unsigned int count = 77;
    CHECK(hg_poll_wait(set, timeout, max, events, &count) == HG_UTIL_SUCCESS);
    return count;
}

static void event_is_set_and_cleared(void) {
    bool notified = true;
    int fd = hg_event_create();
    CHECK(fd >= 0);
    CHECK(hg_event_get(fd, &notified) == HG_UTIL_SUCCESS && !notified);
    CHECK(hg_event_set(fd) == HG_UTIL_SUCCESS && hg_event_set(fd) == HG_UTIL_SUCCESS);
    CHECK(hg_event_get(fd, &notified) == HG_UTIL_SUCCESS && notified);
    CHECK(hg_event_get(fd, &notified) == HG_UTIL_SUCCESS && !notified);
    CHECK(hg_event_destroy(fd) == HG_UTIL_SUCCESS);
    CHECK(hg_event_set(-1) == HG_UTIL_FAIL && hg_event_get(-1, &notified) == HG_UTIL_FAIL);
    CHECK(hg_event_destroy(-1) == HG_UTIL_FAIL);
}

static void set_reports_what_is_ready(void) {
    struct hg_poll_event events[2], wanted;
    int one = hg_event_create(), other = hg_event_create(), ends[2];
    bool notified;
    hg_poll_set_t *set = hg_poll_create(), *outer = hg_poll_create();
    CHECK(set != NULL && outer != NULL && hg_poll_get_fd(set) >= 0);
    wanted.events = HG_POLLIN;
    wanted.data.u64 = UINT64_C(0x123456789a);
    CHECK(hg_poll_add(set, one, &wanted) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_add(set, one, &wanted) == HG_UTIL_FAIL);
    wanted.data.ptr = &other;
    CHECK(hg_poll_add(set, other, &wanted) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_add(outer, hg_poll_get_fd(set), &wanted) == HG_UTIL_SUCCESS);

    CHECK(wait_for(set, 0, 2, events) == 0 && wait_for(set, 10, 2, events) == 0);
    CHECK(hg_event_set(one) == HG_UTIL_SUCCESS);
    CHECK(wait_for(outer, 1000, 2, events) == 1);
    CHECK(wait_for(set, 1000, 2, events) == 1);
    CHECK(events[0].events == HG_POLLIN && events[0].data.u64 == UINT64_C(0x123456789a));
    CHECK(hg_event_set(other) == HG_UTIL_SUCCESS);
    CHECK(wait_for(set, 1000, 1, events) == 1 && wait_for(set, 1000, 2, events) == 2);
    CHECK(hg_event_get(one, &notified) == HG_UTIL_SUCCESS && wait_for(set, 1000, 2, events) == 1);
    CHECK(events[0].data.ptr == &other);

    /* A pipe whose other end is closed. */
    CHECK(pipe(ends) == 0);
    wanted.events = HG_POLLOUT;
    wanted.data.fd = ends[1];
    CHECK(hg_poll_add(set, ends[1], &wanted) == HG_UTIL_SUCCESS && hg_poll_remove(set, other) == HG_UTIL_SUCCESS);
    CHECK(wait_for(set, 1000, 2, events) == 1 && events[0].events == HG_POLLOUT && events[0].data.fd == ends[1]);
    CHECK(close(ends[0]) == 0);
    CHECK(wait_for(set, 1000, 2, events) == 1 && (events[0].events & HG_POLLERR));
    CHECK(hg_poll_remove(set, ends[1]) == HG_UTIL_SUCCESS && close(ends[1]) == 0);

    CHECK(hg_poll_destroy(set) == HG_UTIL_FAIL); /* it is not empty */
    CHECK(hg_poll_remove(set, one) == HG_UTIL_SUCCESS && hg_poll_remove(set, one) == HG_UTIL_FAIL);
    CHECK(hg_poll_remove(outer, hg_poll_get_fd(set)) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_destroy(outer) == HG_UTIL_SUCCESS && hg_poll_destroy(set) == HG_UTIL_SUCCESS);
    CHECK(hg_poll_destroy(NULL) == HG_UTIL_SUCCESS);
    CHECK(hg_event_destroy(one) == HG_UTIL_SUCCESS && hg_event_destroy(other) == HG_UTIL_SUCCESS);
}

static hg_atomic_int32_t finished;
static void on_signal(int number) { (void)number; }

static void* interrupt(void* waiter) {
    while (hg_atomic_get32(&finished) == 0) {
        CHECK(pthread_kill(*(pthread_t*)waiter, SIGUSR1) == 0);
        hg_thread_yield();
    }
    return NULL;
}

static void signal_ends_the_wait(void) {
    struct hg_poll_event event;
    struct sigaction action = {0};
    hg_thread_t thread, self = hg_thread_self();
    hg_poll_set_t* set = hg_poll_create();
    action.sa_handler = on_signal;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && set != NULL);
    CHECK(hg_thread_create(&thread, interrupt, &self) == HG_UTIL_SUCCESS);
    CHECK(wait_for(set, 60000, 1, &event) == 1 && event.events == HG_POLLINTR);
    hg_atomic_set32(&finished, 1);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS && hg_poll_destroy(set) == HG_UTIL_SUCCESS);
}

int main(void) {
    event_is_set_and_cleared();
    set_reports_what_is_ready();
    signal_ends_the_wait();
    return EXIT_SUCCESS;
}
