/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk: memory that a process lends to peers. The process sends the serialized handle in a call, and the peer that
 * receives it transfers the data. Threads: as in mercury.h. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include "mercury_types.h"

/* The access that peers get. */
#define HG_BULK_READ_ONLY (1 << 0)
#define HG_BULK_WRITE_ONLY (1 << 1)
#define HG_BULK_READWRITE (HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY)

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a handle for segments of memory. If `buf_ptrs` is NULL, the library allocates zeroed memory and frees it with
 * the handle. Otherwise the memory is the caller's and must live until the handle is freed. Sizes of 0 are allowed.
 * HG_INVALID_ARG, HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Bulk_create(hg_class_t* hg_class, uint32_t count, void** buf_ptrs, const hg_size_t* buf_sizes,
                                     uint8_t flags, hg_bulk_t* handle);
/* As HG_Bulk_create, with attributes, which may be NULL. HG_MEM_TYPE_CUDA, HG_MEM_TYPE_ROCM, HG_MEM_TYPE_ZE: the
 * segments are memory of such devices; `device` is not read. HG_INVALID_ARG: they are not device memory.
 * HG_OPNOTSUPPORTED: there is no driver for them, `buf_ptrs` is NULL, or the type is another one. */
HG_PUBLIC hg_return_t HG_Bulk_create_attr(hg_class_t* hg_class, uint32_t count, void** buf_ptrs,
                                          const hg_size_t* buf_sizes, uint8_t flags, const struct hg_bulk_attr* attrs,
                                          hg_bulk_t* handle);
/* Drops a reference; transfers in flight hold one. After the last one, peers can no longer access the memory. */
HG_PUBLIC hg_return_t HG_Bulk_free(hg_bulk_t handle);
HG_PUBLIC hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle);
/* Puts the address of this context into the serialized handle, so that a third party can transfer as well. */
HG_PUBLIC hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t* context);
/* The address of a bound handle, valid as long as the handle; otherwise NULL. */
HG_PUBLIC hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle);
HG_PUBLIC uint8_t HG_Bulk_get_context_id(hg_bulk_t handle);
/* Pointers to a range of local memory, or of data that was sent within the serialized handle. HG_OPNOTSUPPORTED: the
 * memory is remote. HG_INVALID_ARG: out of bounds. */
HG_PUBLIC hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset, hg_size_t size, uint8_t flags,
                                     uint32_t max_count, void** buf_ptrs, hg_size_t* buf_sizes, uint32_t* actual_count);
HG_PUBLIC hg_size_t HG_Bulk_get_size(hg_bulk_t handle);
HG_PUBLIC uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle);
HG_PUBLIC uint8_t HG_Bulk_get_flags(hg_bulk_t handle);

/* Converts a handle to bytes and back. There are no public flags. HG_OVERFLOW: the buffer is too small;
 * HG_PROTOCOL_ERROR: malformed bytes. */
HG_PUBLIC hg_size_t HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags);
HG_PUBLIC hg_return_t HG_Bulk_serialize(void* buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle);
HG_PUBLIC hg_return_t HG_Bulk_deserialize(hg_class_t* hg_class, hg_bulk_t* handle, const void* buf, hg_size_t buf_size);

/* Transfers `size` bytes between the origin's memory and local memory. HG_SUCCESS: the callback, if there is one, will
 * run once. Otherwise it does not run: HG_INVALID_ARG (out of bounds, neither push nor pull, an object of another
 * class, or a bound handle, which takes no address), HG_PERMISSION, HG_AGAIN (too many). `op_id` may be NULL or
 * HG_OP_ID_IGNORE. */
HG_PUBLIC hg_return_t HG_Bulk_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                       hg_addr_t origin_addr, hg_bulk_t origin_handle, hg_size_t origin_offset,
                                       hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
                                       hg_op_id_t* op_id);
/* As HG_Bulk_transfer, with the address of a bound handle. */
HG_PUBLIC hg_return_t HG_Bulk_bind_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                            hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                                            hg_size_t local_offset, hg_size_t size, hg_op_id_t* op_id);
/* As HG_Bulk_transfer, with the id of the origin's context. */
HG_PUBLIC hg_return_t HG_Bulk_transfer_id(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                          hg_addr_t origin_addr, uint8_t origin_id, hg_bulk_t origin_handle,
                                          hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
                                          hg_size_t size, hg_op_id_t* op_id);
/* Cancels a transfer; its callback still runs once. Does nothing if the callback has run already. */
HG_PUBLIC hg_return_t HG_Bulk_cancel(hg_op_id_t op_id);

#ifdef __cplusplus
}
#endif
#endif
