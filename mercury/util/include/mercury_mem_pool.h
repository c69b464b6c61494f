/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of chunks of one size, cut from blocks. Each block is registered as a whole by a user function, for instance
 * with an RDMA device. */
#ifndef MERCURY_MEM_POOL_H
#define MERCURY_MEM_POOL_H

#include "mercury_util_config.h"

/* 0, with *handle set, or an error. */
typedef int (*hg_mem_pool_register_func_t)(const void* buf, size_t size, unsigned long flags, void** handle, void* arg);
typedef int (*hg_mem_pool_deregister_func_t)(void* handle, void* arg);

#ifdef __cplusplus
extern "C" {
#endif

/* Creates `block_count` blocks of `chunk_count` chunks each; more blocks are added when these are used up. The two
 * functions may both be null. Null on failure, and if a size or a count of chunks is 0. */
HG_UTIL_PUBLIC struct hg_mem_pool* hg_mem_pool_create(size_t chunk_size, size_t chunk_count, size_t block_count,
                                                      hg_mem_pool_register_func_t register_func, unsigned long flags,
                                                      hg_mem_pool_deregister_func_t deregister_func, void* arg);

/* Requires: every chunk was freed. Null is allowed. */
HG_UTIL_PUBLIC void hg_mem_pool_destroy(struct hg_mem_pool* hg_mem_pool);

/* Takes a chunk for `size` bytes, at most the chunk size. Any thread. Sets *mr_handle, unless null, to the handle of
 * its block. Null if there is no memory or the registration fails. */
HG_UTIL_PUBLIC void* hg_mem_pool_alloc(struct hg_mem_pool* hg_mem_pool, size_t size, void** mr_handle);

/* Frees a chunk of hg_mem_pool_alloc(); null is allowed. */
HG_UTIL_PUBLIC void hg_mem_pool_free(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* mr_handle);

/* The offset of the chunk in its registered block, in bytes. */
HG_UTIL_PUBLIC size_t hg_mem_pool_chunk_offset(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* mr_handle);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_MEM_POOL_H */
