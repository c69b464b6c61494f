/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_MEM_H
#define MERCURY_MEM_H

#include "mercury_util_config.h"

#define HG_MEM_CACHE_LINE_SIZE 64
#define HG_MEM_PAGE_SIZE 4096

#ifdef __cplusplus
extern "C" {
#endif

HG_UTIL_PUBLIC long hg_mem_get_page_size(void);

/* The size of a huge page; 0 if there are none. */
HG_UTIL_PUBLIC long hg_mem_get_hugepage_size(void);

/* `alignment` is a power of two and a multiple of sizeof(void*). Null when it fails. */
HG_UTIL_PUBLIC void* hg_mem_aligned_alloc(size_t alignment, size_t size);
HG_UTIL_PUBLIC void hg_mem_aligned_free(void* mem_ptr);

/* Allocates memory in huge pages; `size` must be a multiple of their size. Null if none are reserved. */
HG_UTIL_PUBLIC void* hg_mem_huge_alloc(size_t size);
HG_UTIL_PUBLIC int hg_mem_huge_free(void* mem_ptr, size_t size);

/* Allocates `size` bytes at the alignment (0: any; otherwise a power of two), with `header_size` bytes right before
 * them. Returns the start of the `size` bytes, or null. hg_mem_header_free() needs the same header size and
 * alignment. */
HG_UTIL_PUBLIC void* hg_mem_header_alloc(size_t header_size, size_t alignment, size_t size);
HG_UTIL_PUBLIC void hg_mem_header_free(size_t header_size, size_t alignment, void* mem_ptr);

/* Maps the shared memory object `name` ("/like-this"); `create` creates it with this size. Null on failure. */
HG_UTIL_PUBLIC void* hg_mem_shm_map(const char* name, size_t size, bool create);

/* Unmaps it, and removes the name unless `name` is null. */
HG_UTIL_PUBLIC int hg_mem_shm_unmap(const char* name, void* mem_ptr, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_MEM_H */
