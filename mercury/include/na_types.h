/* SPDX-License-Identifier: BSD-3-Clause
 * The types and constants of NA, the network layer under HG. */
#ifndef NA_TYPES_H
#define NA_TYPES_H

#include "na_config.h"

#include <limits.h>

typedef struct na_class na_class_t;
typedef struct na_context na_context_t;
typedef struct na_addr na_addr_t;
typedef struct na_op_id na_op_id_t;
typedef struct na_mem_handle na_mem_handle_t;
typedef uint32_t na_tag_t;
typedef uint64_t na_offset_t;

enum na_addr_format { NA_ADDR_UNSPEC, NA_ADDR_IPV4, NA_ADDR_IPV6, NA_ADDR_NATIVE };
enum na_addr_flags { NA_ADDR_FIREWALL = 1 };

enum na_traffic_class {
    NA_TC_UNSPEC,
    NA_TC_BEST_EFFORT,
    NA_TC_LOW_LATENCY,
    NA_TC_BULK_DATA,
    NA_TC_DEDICATED_ACCESS,
    NA_TC_SCAVENGER,
    NA_TC_NETWORK_CTRL
};

enum na_mem_type {
    NA_MEM_TYPE_HOST,
    NA_MEM_TYPE_CUDA,
    NA_MEM_TYPE_ROCM,
    NA_MEM_TYPE_ZE,
    NA_MEM_TYPE_MAX,
    NA_MEM_TYPE_UNKNOWN = NA_MEM_TYPE_MAX
};

/* docs/mercury.md says what each field does, and which have no effect. */
struct na_init_info {
    const char* ip_subnet;               /* prefer the interface of this subnet */
    const char* auth_key;                /* the key of the fabric */
    size_t max_unexpected_size;          /* bytes of one request; 0: the default */
    size_t max_expected_size;            /* bytes of one reply; 0: the default */
    uint8_t progress_mode;               /* NA_NO_BLOCK, NA_NO_RETRY */
    enum na_addr_format addr_format;     /* the preferred kind of address */
    uint8_t max_contexts;                /* the most contexts that will be created */
    uint8_t thread_mode;                 /* NA_THREAD_MODE_... */
    bool request_mem_device;             /* device memory will be used */
    enum na_traffic_class traffic_class; /* quality of service */
};

/* na_init_info without the fields that were added later; hg_init_info contains it. */
struct na_init_info_4_0 {
    const char* ip_subnet;
    const char* auth_key;
    size_t max_unexpected_size;
    size_t max_expected_size;
    uint8_t progress_mode;
    enum na_addr_format addr_format;
    uint8_t max_contexts;
    uint8_t thread_mode;
    bool request_mem_device;
};

struct na_segment {
    void* base;
    size_t len;
};

/* A protocol that this machine has; an element of a linked list. */
struct na_protocol_info {
    struct na_protocol_info* next;
    char* class_name;
    char* protocol_name;
    char* device_name;
};

/* The enumeration and its texts are generated from this list. */
#define NA_RETURN_VALUES \
    X(NA_SUCCESS)        \
    X(NA_PERMISSION)     \
    X(NA_NOENTRY)        \
    X(NA_INTERRUPT)      \
    X(NA_AGAIN)          \
    X(NA_NOMEM)          \
    X(NA_ACCESS)         \
    X(NA_FAULT)          \
    X(NA_BUSY)           \
    X(NA_EXIST)          \
    X(NA_NODEV)          \
    X(NA_INVALID_ARG)    \
    X(NA_PROTOCOL_ERROR) \
    X(NA_OVERFLOW)       \
    X(NA_MSGSIZE)        \
    X(NA_PROTONOSUPPORT) \
    X(NA_OPNOTSUPPORTED) \
    X(NA_ADDRINUSE)      \
    X(NA_ADDRNOTAVAIL)   \
    X(NA_HOSTUNREACH)    \
    X(NA_TIMEOUT)        \
    X(NA_CANCELED)       \
    X(NA_IO_ERROR)       \
    X(NA_HOSTFIREWALL)   \
    X(NA_RETURN_MAX)
#define X(name) name,
typedef enum na_return { NA_RETURN_VALUES } na_return_t;
#undef X

#define NA_VERSION(major, minor) (((major) << 16) | (minor))
#define NA_MAJOR(version) ((version) >> 16)
#define NA_MINOR(version) ((version)&0xffff)
#define NA_VERSION_GE(v1, v2) ((v1) >= (v2))
#define NA_VERSION_LT(v1, v2) ((v1) < (v2))

#define NA_OPT_MULTI_RECV (1 << 0)
#define NA_OPT_FIREWALL_ADDR (1 << 1)

#define NA_MAX_IDLE_TIME (3600 * 1000)
#define NA_CONTEXT_ID_MAX UINT8_MAX
#define NA_TAG_MAX UINT_MAX

#define NA_MEM_READ_ONLY 0x01
#define NA_MEM_WRITE_ONLY 0x02
#define NA_MEM_READWRITE 0x03

#define NA_NO_BLOCK 0x01
#define NA_NO_RETRY 0x02

#define NA_THREAD_MODE_SINGLE_CLS 0x01
#define NA_THREAD_MODE_SINGLE_CTX 0x02
#define NA_THREAD_MODE_SINGLE (NA_THREAD_MODE_SINGLE_CLS | NA_THREAD_MODE_SINGLE_CTX)

/* Makes a value of a structure: a compound literal in C, a braced value in C++. */
#ifdef __cplusplus
#define NA_VALUE_OF(type) type
#else
#define NA_VALUE_OF(type) (struct type)
#endif
#define NA_INIT_INFO_INITIALIZER \
    (NA_VALUE_OF(na_init_info){NULL, NULL, 0, 0, 0, NA_ADDR_UNSPEC, 1, 0, false, NA_TC_UNSPEC})
#define NA_INIT_INFO_INITIALIZER_4_0 (NA_VALUE_OF(na_init_info_4_0){NULL, NULL, 0, 0, 0, NA_ADDR_UNSPEC, 1, 0, false})

#endif
