/* SPDX-License-Identifier: BSD-3-Clause
 * The types of HG's objects and of callback information. */
#ifndef MERCURY_TYPES_H
#define MERCURY_TYPES_H

#include "mercury_core_types.h"

typedef struct hg_class hg_class_t;
typedef struct hg_context hg_context_t;
typedef struct hg_addr* hg_addr_t;
typedef struct hg_handle* hg_handle_t;
typedef struct hg_bulk* hg_bulk_t;
typedef struct hg_proc* hg_proc_t;
typedef struct hg_op_id* hg_op_id_t;

#define HG_ADDR_NULL ((hg_addr_t)0)
#define HG_HANDLE_NULL ((hg_handle_t)0)
#define HG_BULK_NULL ((hg_bulk_t)0)
#define HG_PROC_NULL ((hg_proc_t)0)
#define HG_OP_ID_NULL ((hg_op_id_t)0)
#define HG_OP_ID_IGNORE ((hg_op_id_t*)1)

/* Information on a handle. At the origin `addr` is the target, at the target it is the origin. */
struct hg_info {
    hg_class_t* hg_class;
    hg_context_t* context;
    hg_addr_t addr; /* lives as long as the handle; HG_Addr_dup keeps it longer */
    hg_id_t id;
    uint8_t context_id; /* of the peer */
};

typedef enum hg_mem_type {
    HG_MEM_TYPE_HOST = NA_MEM_TYPE_HOST,
    HG_MEM_TYPE_CUDA = NA_MEM_TYPE_CUDA,
    HG_MEM_TYPE_ROCM = NA_MEM_TYPE_ROCM,
    HG_MEM_TYPE_ZE = NA_MEM_TYPE_ZE,
    HG_MEM_TYPE_MAX = NA_MEM_TYPE_MAX,
    HG_MEM_TYPE_UNKNOWN = NA_MEM_TYPE_UNKNOWN
} hg_mem_type_t;

struct hg_bulk_attr {
    hg_mem_type_t mem_type;
    uint64_t device;
};

/* Seen from the side that transfers: push writes to the origin's memory, pull reads from it. Other values are refused;
 * in C++ the underlying type can hold them. */
typedef enum hg_bulk_op
#ifdef __cplusplus
    : unsigned int
#endif
{ HG_BULK_PUSH,
  HG_BULK_PULL } hg_bulk_op_t;

struct hg_cb_info_lookup {
    hg_addr_t addr; /* the address found, to be freed by the callback */
};
struct hg_cb_info_forward {
    hg_handle_t handle;
};
struct hg_cb_info_respond {
    hg_handle_t handle;
};
struct hg_cb_info_bulk {
    hg_bulk_t origin_handle;
    hg_bulk_t local_handle;
    hg_bulk_op_t op;
    hg_size_t size;
};
struct hg_cb_info {
    union {
        struct hg_cb_info_lookup lookup;
        struct hg_cb_info_forward forward;
        struct hg_cb_info_respond respond;
        struct hg_cb_info_bulk bulk;
    } info;
    void* arg;
    hg_cb_type_t type;
    hg_return_t ret;
};

/* Handlers and callbacks run only inside HG_Trigger and HG_Event_trigger. A handler owns its handle and must destroy
 * it. */
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info* callback_info);
/* Encodes, decodes or frees one value. */
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void* data);

#endif
