/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a callback. A request is completed by a callback that the user's trigger function runs; hg_request_wait()
 * calls the user's progress and trigger functions until then. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include "mercury_atomic.h"
#include "mercury_util_config.h"

typedef struct hg_request_class hg_request_class_t;
typedef struct hg_request hg_request_t;

struct hg_request {
    hg_request_class_t* request_class;
    void* data; /* for the user */
    hg_atomic_int32_t completed;
};

/* Makes progress for at most `timeout` (ms); HG_UTIL_SUCCESS when something completed. */
typedef int (*hg_request_progress_func_t)(unsigned int timeout, void* arg);

/* Runs one callback, if there is one, and sets *flag to 1 or 0. */
typedef int (*hg_request_trigger_func_t)(unsigned int timeout, unsigned int* flag, void* arg);

#ifdef __cplusplus
extern "C" {
#endif

/* Null if there is no memory. `arg` is passed to both functions. */
HG_UTIL_PUBLIC hg_request_class_t* hg_request_init(hg_request_progress_func_t progress,
                                                   hg_request_trigger_func_t trigger, void* arg);

/* Sets *arg, unless null, to the `arg` of the class. */
HG_UTIL_PUBLIC void hg_request_finalize(hg_request_class_t* request_class, void** arg);

/* Null when there is no memory. */
HG_UTIL_PUBLIC hg_request_t* hg_request_create(hg_request_class_t* request_class);
HG_UTIL_PUBLIC void hg_request_destroy(hg_request_t* request);

/* Waits at most `timeout` (ms) and sets *flag, unless null, to whether the request is complete. Several threads may
 * wait, each for its own request, if the two functions are thread-safe. A thread whose request is completed by another
 * thread returns within 100 ms. */
HG_UTIL_PUBLIC int hg_request_wait(hg_request_t* request, unsigned int timeout, unsigned int* flag);

/* Makes the request incomplete, so that it can be used again. */
static HG_UTIL_INLINE void hg_request_reset(hg_request_t* request) { hg_atomic_set32(&request->completed, 0); }

/* Completes the request. Any thread. */
static HG_UTIL_INLINE void hg_request_complete(hg_request_t* request) { hg_atomic_set32(&request->completed, 1); }

/* Waits for each in turn, at most `timeout` (ms) for each; sets *flag to whether all are complete. */
static HG_UTIL_INLINE int hg_request_waitall(int count, hg_request_t* request[], unsigned int timeout,
                                             unsigned int* flag) {
    unsigned int all = 1;
    int i;
    for (i = 0; i < count; ++i) {
        unsigned int one = 0;
        (void)hg_request_wait(request[i], timeout, &one);
        all &= one;
    }
    if (flag) *flag = all;
    return HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE void hg_request_set_data(hg_request_t* request, void* data) { request->data = data; }

static HG_UTIL_INLINE void* hg_request_get_data(hg_request_t* request) { return request->data; }

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_REQUEST_H */
