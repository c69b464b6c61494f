/* SPDX-License-Identifier: BSD-3-Clause
 * A slice of Mercury's C interface, written from its documentation, over rpc and bulk: enough to run a program that
 * registers, forwards, responds and pulls. Threads, lifetime and return codes are Mercury's. */
#ifndef CINNABAR_MERCURY_SLICE_H
#define CINNABAR_MERCURY_SLICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming): the names are Mercury's
typedef uint64_t hg_size_t;
typedef uint64_t hg_id_t;
typedef enum {
    HG_SUCCESS = 0,
    HG_PERMISSION,
    HG_NOENTRY,
    HG_AGAIN,
    HG_NOMEM,
    HG_BUSY,
    HG_INVALID_ARG,
    HG_PROTOCOL_ERROR,
    HG_OVERFLOW,
    HG_HOSTUNREACH,
    HG_TIMEOUT,
    HG_CANCELED,
    HG_OTHER_ERROR
} hg_return_t;
typedef enum { HG_ENCODE, HG_DECODE, HG_FREE } hg_proc_op_t;
typedef enum { HG_CB_FORWARD, HG_CB_RESPOND, HG_CB_BULK } hg_cb_type_t;
typedef enum { HG_BULK_PUSH, HG_BULK_PULL } hg_bulk_op_t;
enum { HG_BULK_READ_ONLY = 1, HG_BULK_WRITE_ONLY = 2, HG_BULK_READWRITE = 3 };

typedef struct hg_class hg_class_t;
typedef struct hg_context hg_context_t;
typedef struct hg_addr* hg_addr_t;
typedef struct hg_handle* hg_handle_t;
typedef struct hg_bulk* hg_bulk_t;
typedef struct hg_proc* hg_proc_t;

struct hg_info {
    hg_class_t* hg_class;
    hg_context_t* context;
    hg_addr_t addr;
    hg_id_t id;
};
struct hg_cb_info {
    void* arg;
    hg_return_t ret;
    hg_cb_type_t type;
    hg_handle_t handle; /* forward, respond */
};
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info* info);
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void* data);

hg_class_t* HG_Init(const char* info_string, uint8_t listen);
hg_return_t HG_Finalize(hg_class_t* hg_class);
hg_context_t* HG_Context_create(hg_class_t* hg_class);
hg_return_t HG_Context_destroy(hg_context_t* context);
hg_id_t HG_Register_name(hg_class_t* hg_class, const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t rpc);

hg_return_t HG_Addr_lookup2(hg_class_t* hg_class, const char* name, hg_addr_t* addr);
hg_return_t HG_Addr_self(hg_class_t* hg_class, hg_addr_t* addr);
hg_return_t HG_Addr_to_string(hg_class_t* hg_class, char* text, hg_size_t* bytes, hg_addr_t addr);
hg_return_t HG_Addr_free(hg_class_t* hg_class, hg_addr_t addr);

hg_return_t HG_Create(hg_context_t* context, hg_addr_t addr, hg_id_t id, hg_handle_t* handle);
hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);
hg_return_t HG_Destroy(hg_handle_t handle);
const struct hg_info* HG_Get_info(hg_handle_t handle);
hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);
hg_return_t HG_Get_input(hg_handle_t handle, void* in);
hg_return_t HG_Get_output(hg_handle_t handle, void* out);
hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in);
hg_return_t HG_Respond(hg_handle_t handle, hg_cb_t callback, void* arg, void* out);
hg_return_t HG_Cancel(hg_handle_t handle);
hg_return_t HG_Progress(hg_context_t* context, unsigned timeout_ms);
hg_return_t HG_Trigger(hg_context_t* context, unsigned timeout_ms, unsigned count_max, unsigned* count);

hg_return_t HG_Bulk_create(hg_class_t* hg_class, uint32_t count, void** buffers, const hg_size_t* sizes, uint8_t flags,
                           hg_bulk_t* handle);
hg_return_t HG_Bulk_free(hg_bulk_t handle);
hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t* context);
hg_size_t HG_Bulk_get_size(hg_bulk_t handle);
hg_return_t HG_Bulk_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op, hg_addr_t origin,
                             hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                             hg_size_t local_offset, hg_size_t bytes);

hg_proc_op_t hg_proc_get_op(hg_proc_t proc);
hg_return_t hg_proc_bytes(hg_proc_t proc, void* data, hg_size_t bytes);
hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void* bulk);
// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif
#endif
