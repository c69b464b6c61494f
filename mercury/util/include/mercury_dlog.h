/* SPDX-License-Identifier: BSD-3-Clause */
/* An in-memory debug log: a ring of entries that record places passed in the code, and named counters. */
#ifndef MERCURY_DLOG_H
#define MERCURY_DLOG_H

#include "mercury_atomic.h"
#include "mercury_queue.h"
#include "mercury_thread_mutex.h"
#include "mercury_time.h"
#include "mercury_util_config.h"

#include <stdio.h>

/* A magic value for finding the log in a core dump, followed by up to 8 bytes of its name. */
#define HG_DLOG_STDMAGIC ">D.LO.G<"
#define HG_DLOG_MAGICLEN 16

/* For a log of static storage: NAME a literal of at most 7 bytes, VARNAME the variable itself, LE an array of LESIZE
 * entries, LELOOP whether new entries replace the oldest. */
#define HG_DLOG_INITIALIZER(NAME, VARNAME, LE, LESIZE, LELOOP)                                        \
    {                                                                                                 \
        HG_DLOG_STDMAGIC NAME, HG_THREAD_MUTEX_INITIALIZER, TAILQ_HEAD_INITIALIZER((VARNAME).cnts32), \
            TAILQ_HEAD_INITIALIZER((VARNAME).cnts64), LE, LESIZE, LELOOP, 0, 0, 0, 0                  \
    }

struct hg_dlog_entry {
    const char* file;
    unsigned int line;
    const char* func;
    const char* msg;  /* or null */
    const void* data; /* or null */
    hg_time_t time;
};

struct hg_dlog_dcount32 {
    const char* name;
    const char* descr;
    hg_atomic_int32_t c;
    TAILQ_ENTRY(hg_dlog_dcount32) l;
};

struct hg_dlog_dcount64 {
    const char* name;
    const char* descr;
    hg_atomic_int64_t c;
    TAILQ_ENTRY(hg_dlog_dcount64) l;
};

struct hg_dlog {
    char dlog_magic[HG_DLOG_MAGICLEN];
    hg_thread_mutex_t dlock; /* guards all following members */

    TAILQ_HEAD(, hg_dlog_dcount32) cnts32;
    TAILQ_HEAD(, hg_dlog_dcount64) cnts64;

    struct hg_dlog_entry* le;
    unsigned int lesize;
    int leloop;
    unsigned int lefree; /* index of the next entry */
    unsigned int leadds; /* number of entries */
    int lestop;          /* if not 0, the log takes no entries */
    int mallocd;         /* allocated by hg_dlog_alloc() */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread may call these, except hg_dlog_free(). Names, descriptions and messages are not copied. */

/* Null when there is no memory. */
HG_UTIL_PUBLIC struct hg_dlog* hg_dlog_alloc(char* name, unsigned int lesize, int leloop);

/* Frees the counters, and the log unless it is of static storage. */
HG_UTIL_PUBLIC void hg_dlog_free(struct hg_dlog* d);

/* If *cptr is null, makes a counter, at 0, and points *cptr to it; it stays null when there is no memory. */
HG_UTIL_PUBLIC void hg_dlog_mkcount32(struct hg_dlog* d, hg_atomic_int32_t** cptr, const char* name, const char* descr);
HG_UTIL_PUBLIC void hg_dlog_mkcount64(struct hg_dlog* d, hg_atomic_int64_t** cptr, const char* name, const char* descr);

/* Removes a counter and frees it. */
HG_UTIL_PUBLIC void hg_dlog_rmcount32(struct hg_dlog* d, hg_atomic_int32_t* cptr);
HG_UTIL_PUBLIC void hg_dlog_rmcount64(struct hg_dlog* d, hg_atomic_int64_t* cptr);

/* 1, or 0 when the log is stopped or full. */
HG_UTIL_PUBLIC unsigned int hg_dlog_addlog(struct hg_dlog* d, const char* file, unsigned int line, const char* func,
                                           const char* msg, const void* data);
HG_UTIL_PUBLIC void hg_dlog_setlogstop(struct hg_dlog* d, int stop);

/* Removes all entries; the counters keep their values. */
HG_UTIL_PUBLIC void hg_dlog_resetlog(struct hg_dlog* d);

/* Writes counters and entries, or only counters, with `log_func`. With `trylock`, for use in a crash, it gives up with
 * a message on stderr if the log is locked. */
HG_UTIL_PUBLIC void hg_dlog_dump(struct hg_dlog* d, int (*log_func)(FILE*, const char*, ...), FILE* stream,
                                 int trylock);
HG_UTIL_PUBLIC void hg_dlog_dump_counters(struct hg_dlog* d, int (*log_func)(FILE*, const char*, ...), FILE* stream,
                                          int trylock);

/* Like hg_dlog_dump(), to the file base.log or base-PID.log. */
HG_UTIL_PUBLIC void hg_dlog_dump_file(struct hg_dlog* d, const char* base, int addpid, int trylock);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_DLOG_H */
