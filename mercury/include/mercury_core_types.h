/* SPDX-License-Identifier: BSD-3-Clause
 * The types and constants that HG and HG_Core share: sizes, ids, options, return values. */
#ifndef MERCURY_CORE_TYPES_H
#define MERCURY_CORE_TYPES_H

#include "mercury_config.h"
#include "na_types.h"

typedef uint64_t hg_size_t;
typedef uint64_t hg_id_t;

typedef enum hg_checksum_level {
    HG_CHECKSUM_NONE,
    HG_CHECKSUM_RPC_HEADERS,
    HG_CHECKSUM_RPC_PAYLOAD
} hg_checksum_level_t;

/* docs/mercury.md says what each field does, and which have no effect. */
struct hg_init_info {
    struct na_init_info_4_0 na_init_info;
    na_class_t* na_class;               /* use this network; the info string is ignored */
    uint32_t request_post_init;         /* requests that may be pending; 0: the default */
    int32_t request_post_incr;          /* how many are added when those are used up */
    uint8_t auto_sm;                    /* shared memory for peers on the same host */
    const char* sm_info_string;         /* the name of that shared memory */
    hg_checksum_level_t checksum_level; /* checksums over arguments and results */
    uint8_t no_bulk_eager;              /* small bulk data is not sent within its handle */
    uint8_t no_loopback;                /* calls of a class to itself use the network */
    uint8_t stats;                      /* HG_Finalize prints the counters */
    uint8_t no_multi_recv;
    uint8_t release_input_early; /* HG_Get_input releases the request's buffer */
    enum na_traffic_class traffic_class;
    bool no_overflow; /* arguments that do not fit a message are HG_OVERFLOW */
    unsigned int multi_recv_op_max;
    unsigned int multi_recv_copy_threshold;
};

/* The enumeration and its texts are generated from this list. */
#define HG_RETURN_VALUES \
    X(HG_SUCCESS)        \
    X(HG_PERMISSION)     \
    X(HG_NOENTRY)        \
    X(HG_INTERRUPT)      \
    X(HG_AGAIN)          \
    X(HG_NOMEM)          \
    X(HG_ACCESS)         \
    X(HG_FAULT)          \
    X(HG_BUSY)           \
    X(HG_EXIST)          \
    X(HG_NODEV)          \
    X(HG_INVALID_ARG)    \
    X(HG_PROTOCOL_ERROR) \
    X(HG_OVERFLOW)       \
    X(HG_MSGSIZE)        \
    X(HG_PROTONOSUPPORT) \
    X(HG_OPNOTSUPPORTED) \
    X(HG_ADDRINUSE)      \
    X(HG_ADDRNOTAVAIL)   \
    X(HG_HOSTUNREACH)    \
    X(HG_TIMEOUT)        \
    X(HG_CANCELED)       \
    X(HG_IO_ERROR)       \
    X(HG_HOSTFIREWALL)   \
    X(HG_CHECKSUM_ERROR) \
    X(HG_NA_ERROR)       \
    X(HG_OTHER_ERROR)    \
    X(HG_RETURN_MAX)
#define X(name) name,
typedef enum hg_return { HG_RETURN_VALUES } hg_return_t;
#undef X

/* Older names. */
#define HG_INVALID_PARAM HG_INVALID_ARG
#define HG_SIZE_ERROR HG_MSGSIZE
#define HG_NOMEM_ERROR HG_NOMEM
#define HG_NO_MATCH HG_NOENTRY

typedef enum hg_cb_type { HG_CB_LOOKUP, HG_CB_FORWARD, HG_CB_RESPOND, HG_CB_BULK } hg_cb_type_t;
typedef enum { HG_UNDEF, HG_INPUT, HG_OUTPUT } hg_op_t;
typedef enum { HG_ENCODE, HG_DECODE, HG_FREE } hg_proc_op_t;

#define HG_CORE_SM (1 << 0)

struct hg_diag_counters {
    uint64_t rpc_req_sent_count;
    uint64_t rpc_req_recv_count;
    uint64_t rpc_resp_sent_count;
    uint64_t rpc_resp_recv_count;
    uint64_t rpc_req_extra_count;       /* requests that did not fit a message */
    uint64_t rpc_resp_extra_count;      /* responses that did not fit a message */
    uint64_t rpc_req_recv_active_count; /* requests whose handlers have not responded */
    uint64_t rpc_multi_recv_copy_count; /* always 0: multi-receive is not used */
    uint64_t bulk_count;                /* transfers started */
};

#define HG_VERSION(major, minor) (((major) << 16) | (minor))
#define HG_MAJOR(version) ((version) >> 16)
#define HG_MINOR(version) ((version)&0xffff)
#define HG_VERSION_GE(v1, v2) ((v1) >= (v2))
#define HG_VERSION_LT(v1, v2) ((v1) < (v2))

#define HG_MAX_IDLE_TIME (3600 * 1000)
#define HG_SIZE_MAX (UINT64_MAX)

#define HG_INIT_INFO_INITIALIZER                                                                                      \
    (NA_VALUE_OF(hg_init_info){NA_INIT_INFO_INITIALIZER_4_0, NULL, 0, 0, false, NULL, HG_CHECKSUM_NONE, false, false, \
                               false, false, false, NA_TC_UNSPEC, false, 0, 0})

#endif
