/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded lock-free queue of pointers for many producers and consumers. */
#ifndef MERCURY_ATOMIC_QUEUE_H
#define MERCURY_ATOMIC_QUEUE_H

#include "mercury_atomic.h"
#include "mercury_mem.h"

struct hg_atomic_queue;

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates a queue of `count` entries, a power of two. Null for any other count, or if there is no memory. */
HG_UTIL_PUBLIC struct hg_atomic_queue* hg_atomic_queue_alloc(unsigned int count);
HG_UTIL_PUBLIC void hg_atomic_queue_free(struct hg_atomic_queue* hg_atomic_queue);

/* Fails when the queue is full. `entry` is not null. */
HG_UTIL_PUBLIC int hg_atomic_queue_push(struct hg_atomic_queue* hg_atomic_queue, void* entry);

/* Takes the oldest entry. Null if the queue is empty or the push of the oldest entry has not ended. */
HG_UTIL_PUBLIC void* hg_atomic_queue_pop_mc(struct hg_atomic_queue* hg_atomic_queue);

/* The same for a single consumer. */
HG_UTIL_PUBLIC void* hg_atomic_queue_pop_sc(struct hg_atomic_queue* hg_atomic_queue);

HG_UTIL_PUBLIC bool hg_atomic_queue_is_empty(const struct hg_atomic_queue* hg_atomic_queue);
HG_UTIL_PUBLIC unsigned int hg_atomic_queue_count(const struct hg_atomic_queue* hg_atomic_queue);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_ATOMIC_QUEUE_H */
