/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of one size from blocks that are registered, each as a whole, with whom the user likes (an RDMA device). */
#ifndef MERCURY_MEM_POOL_H
#define MERCURY_MEM_POOL_H

#include "mercury_util_config.h"

/* 0, with *handle set, or an error. */
typedef int (*hg_mem_pool_register_func_t)(const void* buf, size_t size, unsigned long flags, void** handle, void* arg);
typedef int (*hg_mem_pool_deregister_func_t)(void* handle, void* arg);

#ifdef __cplusplus
extern "C" {
#endif

/* `block_count` blocks of `chunk_count` chunks each; more blocks are made when these are used up. The functions may be
 * null together. Null when it fails. */
HG_UTIL_PUBLIC struct hg_mem_pool* hg_mem_pool_create(size_t chunk_size, size_t chunk_count, size_t block_count,
                                                      hg_mem_pool_register_func_t register_func, unsigned long flags,
                                                      hg_mem_pool_deregister_func_t deregister_func, void* arg);

/* Every chunk is back by now. Null is allowed. */
HG_UTIL_PUBLIC void hg_mem_pool_destroy(struct hg_mem_pool* hg_mem_pool);

/* A chunk for `size` bytes, at most the chunk size, from any thread. The handle of its block goes to *mr_handle
 * unless that is null. Null when there is no memory, or no registration. */
HG_UTIL_PUBLIC void* hg_mem_pool_alloc(struct hg_mem_pool* hg_mem_pool, size_t size, void** mr_handle);

/* With what hg_mem_pool_alloc() gave; null is allowed. */
HG_UTIL_PUBLIC void hg_mem_pool_free(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* mr_handle);

/* Where the chunk lies in the memory that was registered, in bytes. */
HG_UTIL_PUBLIC size_t hg_mem_pool_chunk_offset(struct hg_mem_pool* hg_mem_pool, void* mem_ptr, void* mr_handle);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_MEM_POOL_H */
