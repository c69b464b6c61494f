/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic integers for C and C++: plain integers that only these functions may access. Loads have acquire semantics,
 * stores release, and read-modify-write operations both. */
#ifndef MERCURY_ATOMIC_H
#define MERCURY_ATOMIC_H

#include "mercury_util_config.h"

typedef int32_t hg_atomic_int32_t;
typedef int64_t hg_atomic_int64_t;

#define HG_ATOMIC_VAR_INIT(x) (x)

#ifdef __cplusplus
extern "C" {
#endif

/* Call it before any other thread knows of the variable. */
static HG_UTIL_INLINE void hg_atomic_init32(hg_atomic_int32_t* ptr, int32_t value) {
    __atomic_store_n(ptr, value, __ATOMIC_RELAXED);
}

static HG_UTIL_INLINE void hg_atomic_set32(hg_atomic_int32_t* ptr, int32_t value) {
    __atomic_store_n(ptr, value, __ATOMIC_RELEASE);
}

static HG_UTIL_INLINE int32_t hg_atomic_get32(const hg_atomic_int32_t* ptr) {
    return __atomic_load_n(ptr, __ATOMIC_ACQUIRE);
}

/* These two return the new value. */
static HG_UTIL_INLINE int32_t hg_atomic_incr32(hg_atomic_int32_t* ptr) {
    return __atomic_add_fetch(ptr, 1, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int32_t hg_atomic_decr32(hg_atomic_int32_t* ptr) {
    return __atomic_sub_fetch(ptr, 1, __ATOMIC_ACQ_REL);
}

/* These three return the value before. */
static HG_UTIL_INLINE int32_t hg_atomic_or32(hg_atomic_int32_t* ptr, int32_t value) {
    return __atomic_fetch_or(ptr, value, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int32_t hg_atomic_xor32(hg_atomic_int32_t* ptr, int32_t value) {
    return __atomic_fetch_xor(ptr, value, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int32_t hg_atomic_and32(hg_atomic_int32_t* ptr, int32_t value) {
    return __atomic_fetch_and(ptr, value, __ATOMIC_ACQ_REL);
}

/* True when the value was `compare_value` and is `swap_value` now. */
static HG_UTIL_INLINE bool hg_atomic_cas32(hg_atomic_int32_t* ptr, int32_t compare_value, int32_t swap_value) {
    return __atomic_compare_exchange_n(ptr, &compare_value, swap_value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Call it before any other thread knows of the variable. */
static HG_UTIL_INLINE void hg_atomic_init64(hg_atomic_int64_t* ptr, int64_t value) {
    __atomic_store_n(ptr, value, __ATOMIC_RELAXED);
}

static HG_UTIL_INLINE void hg_atomic_set64(hg_atomic_int64_t* ptr, int64_t value) {
    __atomic_store_n(ptr, value, __ATOMIC_RELEASE);
}

static HG_UTIL_INLINE int64_t hg_atomic_get64(const hg_atomic_int64_t* ptr) {
    return __atomic_load_n(ptr, __ATOMIC_ACQUIRE);
}

/* These two return the new value. */
static HG_UTIL_INLINE int64_t hg_atomic_incr64(hg_atomic_int64_t* ptr) {
    return __atomic_add_fetch(ptr, 1, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int64_t hg_atomic_decr64(hg_atomic_int64_t* ptr) {
    return __atomic_sub_fetch(ptr, 1, __ATOMIC_ACQ_REL);
}

/* These three return the value before. */
static HG_UTIL_INLINE int64_t hg_atomic_or64(hg_atomic_int64_t* ptr, int64_t value) {
    return __atomic_fetch_or(ptr, value, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int64_t hg_atomic_xor64(hg_atomic_int64_t* ptr, int64_t value) {
    return __atomic_fetch_xor(ptr, value, __ATOMIC_ACQ_REL);
}

static HG_UTIL_INLINE int64_t hg_atomic_and64(hg_atomic_int64_t* ptr, int64_t value) {
    return __atomic_fetch_and(ptr, value, __ATOMIC_ACQ_REL);
}

/* True when the value was `compare_value` and is `swap_value` now. */
static HG_UTIL_INLINE bool hg_atomic_cas64(hg_atomic_int64_t* ptr, int64_t compare_value, int64_t swap_value) {
    return __atomic_compare_exchange_n(ptr, &compare_value, swap_value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static HG_UTIL_INLINE void hg_atomic_fence(void) { __sync_synchronize(); }

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_ATOMIC_H */
