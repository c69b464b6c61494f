/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of Mercury's API share: checks that fail the program, and a server and a client in one process, driven
 * by hand. Every program takes the transport as its argument: self, tcp, shm, ... */
#ifndef CINNABAR_TESTS_MERCURY_BOTH_SIDES_H
#define CINNABAR_TESTS_MERCURY_BOTH_SIDES_H

#include "check.h"

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <stdbool.h>

#define CHECK_RET(call, expected)                                                                                      \
    do {                                                                                                               \
        const hg_return_t check_ret = (call);                                                                          \
        if (check_ret != (expected)) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s instead of %s\n", __FILE__, __LINE__, #call, HG_Error_to_string(check_ret), \
                    HG_Error_to_string(expected));                                                                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
/* The same, for calls whose reason the library logs. */
#define CHECK_REFUSED(call, expected) \
    do {                              \
        HG_Set_log_level("none");     \
        CHECK_RET(call, expected);    \
        HG_Set_log_level("warning");  \
    } while (0)
#define CHECK_OK(call) CHECK_RET(call, HG_SUCCESS)

/* The init string of a program that listens on this transport, or does not. */
const char* init_string(const char* transport, bool listen);

struct side {
    hg_class_t* hg_class;
    hg_context_t* context;
};

/* On `self` both sides are one class, which calls itself. */
struct both_sides {
    struct side server;
    struct side client;
    hg_addr_t to; /* the server, as the client knows it */
};

void open_both_sides(struct both_sides* both, const char* transport, const struct hg_init_info* options);
/* Requires: everything else was freed. */
void close_both_sides(struct both_sides* both);

/* One round of progress and callbacks on each side. */
void pump_once(struct both_sides* both);
/* Pumps until *flag is at least `wanted`; fails the test after 20 seconds. */
void pump_until(struct both_sides* both, const int* flag, int wanted);

/* The results that a callback has received. */
struct told {
    int count;
    hg_return_t ret;
};
/* Records the result; `arg` is a struct told. */
hg_return_t note(const struct hg_cb_info* info);
/* Forwards, and waits for the end of the call. */
hg_return_t call(struct both_sides* both, hg_handle_t handle, void* in);

/* Monotonic time, in milliseconds. */
double now_ms(void);

#endif
