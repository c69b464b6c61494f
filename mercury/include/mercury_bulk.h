/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk: memory that is lent to peers, described in calls, and moved by whoever has the description. Threads: as HG's.
 */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include "mercury_types.h"

/* What peers may do with the memory. */
#define HG_BULK_READ_ONLY (1 << 0)
#define HG_BULK_WRITE_ONLY (1 << 1)
#define HG_BULK_READWRITE (HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY)

#ifdef __cplusplus
extern "C" {
#endif

/* Lends segments. `buf_ptrs` NULL: the library allocates the memory, zeroed, and frees it with the handle. Else it is
 * the caller's, and stays until the handle is gone. Sizes of 0 are allowed. HG_INVALID_ARG, HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Bulk_create(hg_class_t* hg_class, uint32_t count, void** buf_ptrs, const hg_size_t* buf_sizes,
                                     uint8_t flags, hg_bulk_t* handle);
/* HG_OPNOTSUPPORTED: memory of a device. `attrs` may be NULL. */
HG_PUBLIC hg_return_t HG_Bulk_create_attr(hg_class_t* hg_class, uint32_t count, void** buf_ptrs,
                                          const hg_size_t* buf_sizes, uint8_t flags, const struct hg_bulk_attr* attrs,
                                          hg_bulk_t* handle);
/* Gives a reference back; transfers in flight hold one. With the last, peers can touch the memory no more. */
HG_PUBLIC hg_return_t HG_Bulk_free(hg_bulk_t handle);
HG_PUBLIC hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle);
/* Puts the address of a context into the description, so that a third party can transfer as well. */
HG_PUBLIC hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t* context);
/* Of a bound handle; NULL otherwise. Lives as long as the handle. */
HG_PUBLIC hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle);
HG_PUBLIC uint8_t HG_Bulk_get_context_id(hg_bulk_t handle);
/* Pointers to a range: of own memory, or to what came along with the description. HG_OPNOTSUPPORTED: memory that is
 * elsewhere. HG_INVALID_ARG: out of bounds. */
HG_PUBLIC hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset, hg_size_t size, uint8_t flags,
                                     uint32_t max_count, void** buf_ptrs, hg_size_t* buf_sizes, uint32_t* actual_count);
HG_PUBLIC hg_size_t HG_Bulk_get_size(hg_bulk_t handle);
HG_PUBLIC uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle);
HG_PUBLIC uint8_t HG_Bulk_get_flags(hg_bulk_t handle);

/* The description as bytes. No flags are known to users. HG_OVERFLOW: it does not fit; HG_PROTOCOL_ERROR: the bytes
 * make no sense. */
HG_PUBLIC hg_size_t HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags);
HG_PUBLIC hg_return_t HG_Bulk_serialize(void* buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle);
HG_PUBLIC hg_return_t HG_Bulk_deserialize(hg_class_t* hg_class, hg_bulk_t* handle, const void* buf, hg_size_t buf_size);

/* Moves `size` bytes between the origin's memory and local memory. HG_SUCCESS: the callback, if there is one, runs
 * once. Else it does not: HG_INVALID_ARG (out of bounds, neither push nor pull, of another class, or a bound handle
 * where an address is given), HG_PERMISSION, HG_AGAIN (too many). `op_id` may be NULL or HG_OP_ID_IGNORE. */
HG_PUBLIC hg_return_t HG_Bulk_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                       hg_addr_t origin_addr, hg_bulk_t origin_handle, hg_size_t origin_offset,
                                       hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
                                       hg_op_id_t* op_id);
/* The address comes from the handle, which is bound. */
HG_PUBLIC hg_return_t HG_Bulk_bind_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                            hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                                            hg_size_t local_offset, hg_size_t size, hg_op_id_t* op_id);
/* With the id of the origin's context. */
HG_PUBLIC hg_return_t HG_Bulk_transfer_id(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                          hg_addr_t origin_addr, uint8_t origin_id, hg_bulk_t origin_handle,
                                          hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
                                          hg_size_t size, hg_op_id_t* op_id);
/* Asks for an early end; the callback still comes, once. Nothing happens when it has run already. */
HG_PUBLIC hg_return_t HG_Bulk_cancel(hg_op_id_t op_id);

#ifdef __cplusplus
}
#endif
#endif
