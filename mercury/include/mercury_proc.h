/* SPDX-License-Identifier: BSD-3-Clause
 * Procs: one function that encodes, decodes and frees a type. Integers are in host byte order, without padding.
 * Decoding beyond the end of the message returns HG_OVERFLOW. A proc may be used by one thread at a time. */
#ifndef MERCURY_PROC_H
#define MERCURY_PROC_H

#include "mercury_types.h"

#include <string.h>

typedef enum { HG_CRC16, HG_CRC32, HG_CRC64, HG_NOHASH } hg_proc_hash_t;

/* Flags of a proc. */
#define HG_PROC_SM (1 << 0)
#define HG_PROC_BULK_EAGER (1 << 1) /* small bulk data may be sent within its handle */

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* For the inline functions below; the layout is not part of the interface. */
struct hg_proc {
    char* at;    /* the next byte */
    char* end;   /* one past the last byte */
    char* begin; /* the first byte */
    hg_class_t* hg_class;
    hg_handle_t handle;
    void* extra; /* memory of the proc, if the buffer that it was given was too small */
    hg_size_t extra_size;
    hg_proc_op_t op;
    uint8_t flags;
    uint8_t extra_is_mine;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a proc. `hash` has no effect: checksums cover whole messages. */
HG_PUBLIC hg_return_t hg_proc_create(hg_class_t* hg_class, hg_proc_hash_t hash, hg_proc_t* proc);
HG_PUBLIC hg_return_t hg_proc_create_set(hg_class_t* hg_class, void* buf, hg_size_t buf_size, hg_proc_op_t op,
                                         hg_proc_hash_t hash, hg_proc_t* proc);
HG_PUBLIC hg_return_t hg_proc_free(hg_proc_t proc);
/* Restarts the proc on another buffer, which stays the caller's. Frees extra memory and clears the flags. */
HG_PUBLIC hg_return_t hg_proc_reset(hg_proc_t proc, void* buf, hg_size_t buf_size, hg_proc_op_t op);
/* Grows the buffer to at least this size when encoding; when decoding, returns HG_OVERFLOW. HG_NOMEM. */
HG_PUBLIC hg_return_t hg_proc_set_size(hg_proc_t proc, hg_size_t buf_size);
/* The next bytes, for the caller to write or read; NULL on failure. */
HG_PUBLIC void* hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size);
/* Ends an access that hg_proc_save_ptr began. */
HG_PUBLIC hg_return_t hg_proc_restore_ptr(hg_proc_t proc, void* data, hg_size_t data_size);
/* True: the caller owns the extra memory and frees it with free(). */
HG_PUBLIC hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, uint8_t mine);
HG_PUBLIC hg_return_t hg_proc_flush(hg_proc_t proc);
/* Makes room for `data_size` more bytes. */
HG_PUBLIC hg_return_t hg_proc_reserve(hg_proc_t proc, hg_size_t data_size);
/* hg_proc_bytes where fewer than `data_size` bytes are left. */
HG_PUBLIC hg_return_t hg_proc_bytes_beyond(hg_proc_t proc, void* data, hg_size_t data_size);

static HG_INLINE hg_class_t* hg_proc_get_class(hg_proc_t proc) { return proc->hg_class; }
static HG_INLINE void hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle) { proc->handle = handle; }
static HG_INLINE hg_handle_t hg_proc_get_handle(hg_proc_t proc) { return proc->handle; }
static HG_INLINE hg_proc_op_t hg_proc_get_op(hg_proc_t proc) { return proc->op; }
static HG_INLINE void hg_proc_set_flags(hg_proc_t proc, uint8_t flags) { proc->flags = flags; }
static HG_INLINE uint8_t hg_proc_get_flags(hg_proc_t proc) { return proc->flags; }
static HG_INLINE hg_size_t hg_proc_get_size(hg_proc_t proc) { return (hg_size_t)(proc->end - proc->begin); }
static HG_INLINE hg_size_t hg_proc_get_size_used(hg_proc_t proc) { return (hg_size_t)(proc->at - proc->begin); }
static HG_INLINE hg_size_t hg_proc_get_size_left(hg_proc_t proc) { return (hg_size_t)(proc->end - proc->at); }
static HG_INLINE void* hg_proc_get_extra_buf(hg_proc_t proc) { return proc->extra; }
static HG_INLINE hg_size_t hg_proc_get_extra_size(hg_proc_t proc) { return proc->extra_size; }

/* A proc that frees what this one decoded. It has no bytes, and is not given to hg_proc_free. */
static HG_INLINE struct hg_proc hg_proc_freeing(hg_proc_t proc) {
    struct hg_proc freeing = *proc;
    freeing.at = freeing.end = freeing.begin = NULL;
    freeing.extra = NULL;
    freeing.extra_size = 0;
    freeing.op = HG_FREE;
    return freeing;
}

/* Copies raw bytes. */
static HG_INLINE hg_return_t hg_proc_bytes(hg_proc_t proc, void* data, hg_size_t data_size) {
    if (proc->op == HG_FREE || data_size == 0) return HG_SUCCESS;
    /* Nothing is done after this call, so a proc saves no registers for it. */
    if (unlikely(hg_proc_get_size_left(proc) < data_size)) return hg_proc_bytes_beyond(proc, data, data_size);
    if (proc->op == HG_ENCODE) {
        memcpy(proc->at, data, (size_t)data_size);
    } else {
        memcpy(data, proc->at, (size_t)data_size);
    }
    proc->at += data_size;
    return HG_SUCCESS;
}

static HG_INLINE hg_return_t hg_proc_int8_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 1); }
static HG_INLINE hg_return_t hg_proc_uint8_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 1); }
static HG_INLINE hg_return_t hg_proc_int16_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 2); }
static HG_INLINE hg_return_t hg_proc_uint16_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 2); }
static HG_INLINE hg_return_t hg_proc_int32_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 4); }
static HG_INLINE hg_return_t hg_proc_uint32_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 4); }
static HG_INLINE hg_return_t hg_proc_int64_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 8); }
static HG_INLINE hg_return_t hg_proc_uint64_t(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, 8); }

#define hg_proc_raw hg_proc_bytes
#define hg_proc_memcpy hg_proc_bytes

#define hg_proc_hg_size_t hg_proc_uint64_t
#define hg_proc_hg_id_t hg_proc_uint64_t
#define hg_proc_hg_bool_t hg_proc_uint8_t
#define hg_proc_hg_ptr_t hg_proc_uint64_t

#define hg_proc_hg_int8_t hg_proc_int8_t
#define hg_proc_hg_uint8_t hg_proc_uint8_t
#define hg_proc_hg_int16_t hg_proc_int16_t
#define hg_proc_hg_uint16_t hg_proc_uint16_t
#define hg_proc_hg_int32_t hg_proc_int32_t
#define hg_proc_hg_uint32_t hg_proc_uint32_t
#define hg_proc_hg_int64_t hg_proc_int64_t
#define hg_proc_hg_uint64_t hg_proc_uint64_t

#ifdef __cplusplus
}
#endif
#endif
