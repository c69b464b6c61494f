/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a callback: a request is completed by a callback that the user's trigger function runs, and
 * hg_request_wait() calls the user's progress and trigger functions until then. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include "mercury_atomic.h"
#include "mercury_util_config.h"

typedef struct hg_request_class hg_request_class_t;
typedef struct hg_request hg_request_t;

struct hg_request {
    hg_request_class_t* request_class;
    void* data; /* the user's */
    hg_atomic_int32_t completed;
};

/* Makes progress for at most `timeout` (ms); HG_UTIL_SUCCESS when something completed. */
typedef int (*hg_request_progress_func_t)(unsigned int timeout, void* arg);

/* Runs one callback, if there is one, and says so in *flag (1 or 0). */
typedef int (*hg_request_trigger_func_t)(unsigned int timeout, unsigned int* flag, void* arg);

#ifdef __cplusplus
extern "C" {
#endif

/* Null when there is no memory. `arg` is handed to both functions. */
HG_UTIL_PUBLIC hg_request_class_t* hg_request_init(hg_request_progress_func_t progress,
                                                   hg_request_trigger_func_t trigger, void* arg);

/* Gives the class's `arg` back in *arg, unless that is null. */
HG_UTIL_PUBLIC void hg_request_finalize(hg_request_class_t* request_class, void** arg);

/* Null when there is no memory. */
HG_UTIL_PUBLIC hg_request_t* hg_request_create(hg_request_class_t* request_class);
HG_UTIL_PUBLIC void hg_request_destroy(hg_request_t* request);

/* Waits at most `timeout` (ms) and says in *flag, unless that is null, whether the request is complete. Several threads
 * may wait, each for its own request, if the two functions allow it; who runs a callback for another one's request
 * wakes it within 100 ms. */
HG_UTIL_PUBLIC int hg_request_wait(hg_request_t* request, unsigned int timeout, unsigned int* flag);

/* Makes it incomplete, to be used again. */
static HG_UTIL_INLINE void hg_request_reset(hg_request_t* request) { hg_atomic_set32(&request->completed, 0); }

/* From any thread. */
static HG_UTIL_INLINE void hg_request_complete(hg_request_t* request) { hg_atomic_set32(&request->completed, 1); }

/* Waits for each in turn, `timeout` (ms) at most for each; *flag says whether all are complete. */
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
