/* SPDX-License-Identifier: BSD-3-Clause */
/* Points in time on the monotonic clock, and durations; both are struct timespec. */
#ifndef MERCURY_TIME_H
#define MERCURY_TIME_H

#include "mercury_util_config.h"

#include <time.h>

typedef struct timespec hg_time_t;

#define HG_UTIL_STAMP_MAX 128

#ifdef __cplusplus
extern "C" {
#endif

static HG_UTIL_INLINE int hg_time_get_current(hg_time_t* tv) {
    return clock_gettime(CLOCK_MONOTONIC, tv) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/* Cheaper, but up to one kernel tick (1 to 10 ms) behind. */
static HG_UTIL_INLINE int hg_time_get_current_ms(hg_time_t* tv) {
    return clock_gettime(CLOCK_MONOTONIC_COARSE, tv) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/* Seconds. */
static HG_UTIL_INLINE double hg_time_to_double(hg_time_t tv) { return (double)tv.tv_sec + (double)tv.tv_nsec * 1e-9; }

static HG_UTIL_INLINE hg_time_t hg_time_from_double(double seconds) {
    hg_time_t tv;
    tv.tv_sec = (time_t)seconds;
    tv.tv_nsec = (long)((seconds - (double)tv.tv_sec) * 1e9);
    return tv;
}

/* Rounded up, so that only a duration of 0 becomes 0. */
static HG_UTIL_INLINE unsigned int hg_time_to_ms(hg_time_t tv) {
    return (unsigned int)(tv.tv_sec * 1000 + (tv.tv_nsec + 999999) / 1000000);
}

static HG_UTIL_INLINE hg_time_t hg_time_from_ms(unsigned int ms) {
    hg_time_t tv;
    tv.tv_sec = ms / 1000;
    tv.tv_nsec = (long)(ms % 1000) * 1000000;
    return tv;
}

static HG_UTIL_INLINE bool hg_time_less(hg_time_t in1, hg_time_t in2) {
    return in1.tv_sec < in2.tv_sec || (in1.tv_sec == in2.tv_sec && in1.tv_nsec < in2.tv_nsec);
}

static HG_UTIL_INLINE hg_time_t hg_time_add(hg_time_t in1, hg_time_t in2) {
    hg_time_t out;
    out.tv_sec = in1.tv_sec + in2.tv_sec;
    out.tv_nsec = in1.tv_nsec + in2.tv_nsec;
    if (out.tv_nsec >= 1000000000) {
        out.tv_nsec -= 1000000000;
        out.tv_sec += 1;
    }
    return out;
}

static HG_UTIL_INLINE hg_time_t hg_time_subtract(hg_time_t in1, hg_time_t in2) {
    hg_time_t out;
    out.tv_sec = in1.tv_sec - in2.tv_sec;
    out.tv_nsec = in1.tv_nsec - in2.tv_nsec;
    if (out.tv_nsec < 0) {
        out.tv_nsec += 1000000000;
        out.tv_sec -= 1;
    }
    return out;
}

/* in2 - in1, in seconds. */
static HG_UTIL_INLINE double hg_time_diff(hg_time_t in2, hg_time_t in1) {
    return hg_time_to_double(hg_time_subtract(in2, in1));
}

/* Fails if a signal interrupts the sleep. */
static HG_UTIL_INLINE int hg_time_sleep(const hg_time_t rqt) {
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &rqt, NULL) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/* Date and time as text, such as "Sun, 22 Nov 2026 05:00:00 UTC"; overwritten by the next call in this thread. */
static HG_UTIL_INLINE char* hg_time_stamp(void) {
    static __thread char stamp[HG_UTIL_STAMP_MAX];
    const time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) == NULL) return NULL;
    return strftime(stamp, sizeof(stamp), "%a, %d %b %Y %T %Z", &local) == 0 ? NULL : stamp;
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_TIME_H */
