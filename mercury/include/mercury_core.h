/* SPDX-License-Identifier: BSD-3-Clause
 * HG_Core: HG without procs, for programs that encode arguments and results themselves. Its objects are HG's objects.
 * Each function does the same as the HG function of that name without "Core"; see the comment there. If arguments or
 * results do not fit into a message, the program must transfer the rest (HG_Core_set_more_data_callback). */
#ifndef MERCURY_CORE_H
#define MERCURY_CORE_H

#include "mercury_core_types.h"
#include "na.h"

typedef struct hg_core_class hg_core_class_t;
typedef struct hg_core_context hg_core_context_t;
typedef struct hg_core_addr* hg_core_addr_t;
typedef struct hg_core_handle* hg_core_handle_t;
typedef struct hg_core_op_id* hg_core_op_id_t;

#define HG_CORE_ADDR_NULL ((hg_core_addr_t)0)
#define HG_CORE_HANDLE_NULL ((hg_core_handle_t)0)
#define HG_CORE_OP_ID_NULL ((hg_core_op_id_t)0)
#define HG_CORE_OP_ID_IGNORE ((hg_core_op_id_t*)1)

#define HG_CORE_MORE_DATA (1 << 0)

struct hg_core_info {
    hg_core_class_t* core_class;
    hg_core_context_t* context;
    hg_core_addr_t addr;
    hg_id_t id;
    uint8_t context_id;
};

struct hg_core_cb_info_lookup {
    hg_core_addr_t addr;
};
struct hg_core_cb_info_forward {
    hg_core_handle_t handle;
};
struct hg_core_cb_info_respond {
    hg_core_handle_t handle;
};
struct hg_core_cb_info {
    union {
        struct hg_core_cb_info_lookup lookup;
        struct hg_core_cb_info_forward forward;
        struct hg_core_cb_info_respond respond;
    } info;
    void* arg;
    hg_cb_type_t type;
    hg_return_t ret;
};
typedef hg_return_t (*hg_core_rpc_cb_t)(hg_core_handle_t handle);
typedef hg_return_t (*hg_core_cb_t)(const struct hg_core_cb_info* callback_info);

#ifdef __cplusplus
extern "C" {
#endif

HG_PUBLIC hg_return_t HG_Core_get_na_protocol_info(const char* info_string, struct na_protocol_info** list);
HG_PUBLIC void HG_Core_free_na_protocol_info(struct na_protocol_info* list);

HG_PUBLIC hg_core_class_t* HG_Core_init(const char* info_string, uint8_t listen) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_core_class_t* HG_Core_init_opt(const char* info_string, uint8_t listen,
                                            const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_core_class_t* HG_Core_init_opt2(const char* info_string, uint8_t listen, unsigned int version,
                                             const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_finalize(hg_core_class_t* hg_core_class);
HG_PUBLIC void HG_Core_cleanup(void);
/* The flag HG_CORE_MORE_DATA says that there is more data than fits the message. `acquire` is called before the handler
 * (HG_INPUT) or the callback of HG_Core_forward (HG_OUTPUT) runs, and starts to fetch that data, for instance by a bulk
 * transfer that the message describes. The program then calls `done`, once and on any thread: with HG_SUCCESS the
 * handler or callback runs, with an error the call ends. An error of `acquire` ends the call as well. `release` is
 * called on both sides when such a handle is reset or freed. Set these before contexts are created; without `acquire`
 * such a request ends with HG_OPNOTSUPPORTED. */
HG_PUBLIC hg_return_t HG_Core_set_more_data_callback(
    struct hg_core_class* hg_core_class,
    hg_return_t (*acquire)(hg_core_handle_t, hg_op_t, void (*done)(hg_core_handle_t, hg_return_t)),
    void (*release)(hg_core_handle_t));

HG_PUBLIC const char* HG_Core_class_get_name(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const char* HG_Core_class_get_protocol(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Core_class_is_listening(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC na_class_t* HG_Core_class_get_na(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_size_t HG_Core_class_get_input_eager_size(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_size_t HG_Core_class_get_output_eager_size(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_class_set_data(hg_core_class_t* hg_core_class, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Core_class_get_data(const hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_class_get_counters(const hg_core_class_t* hg_core_class,
                                                 struct hg_diag_counters* counters);

HG_PUBLIC hg_core_context_t* HG_Core_context_create(hg_core_class_t* hg_core_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_core_context_t* HG_Core_context_create_id(hg_core_class_t* hg_core_class,
                                                       uint8_t id) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_context_destroy(hg_core_context_t* context);
HG_PUBLIC hg_core_class_t* HG_Core_context_get_class(const hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC uint8_t HG_Core_context_get_id(const hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_context_set_data(hg_core_context_t* context, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Core_context_get_data(const hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC unsigned int HG_Core_context_get_completion_count(const hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_context_set_handle_create_callback(hg_core_context_t* context,
                                                                 hg_return_t (*callback)(hg_core_handle_t, void*),
                                                                 void* arg);
/* A context accepts requests from its creation on. HG_Core_context_post undoes HG_Core_context_unpost. */
HG_PUBLIC hg_return_t HG_Core_context_post(hg_core_context_t* context);
HG_PUBLIC hg_return_t HG_Core_context_unpost(hg_core_context_t* context);

HG_PUBLIC hg_return_t HG_Core_register(hg_core_class_t* hg_core_class, hg_id_t id, hg_core_rpc_cb_t rpc_cb);
HG_PUBLIC hg_return_t HG_Core_deregister(hg_core_class_t* hg_core_class, hg_id_t id);
HG_PUBLIC hg_return_t HG_Core_registered(hg_core_class_t* hg_core_class, hg_id_t id, uint8_t* flag);
HG_PUBLIC hg_return_t HG_Core_register_data(hg_core_class_t* hg_core_class, hg_id_t id, void* data,
                                            void (*free_callback)(void*));
HG_PUBLIC void* HG_Core_registered_data(hg_core_class_t* hg_core_class, hg_id_t id) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_registered_disable_response(hg_core_class_t* hg_core_class, hg_id_t id, uint8_t disable);
HG_PUBLIC hg_return_t HG_Core_registered_disabled_response(hg_core_class_t* hg_core_class, hg_id_t id,
                                                           uint8_t* disabled);

HG_PUBLIC hg_return_t HG_Core_addr_lookup1(hg_core_context_t* context, hg_core_cb_t callback, void* arg,
                                           const char* name, hg_core_op_id_t* op_id);
HG_PUBLIC hg_return_t HG_Core_addr_lookup2(hg_core_class_t* hg_core_class, const char* name, hg_core_addr_t* addr);
HG_PUBLIC hg_return_t HG_Core_addr_free(hg_core_addr_t addr);
HG_PUBLIC hg_return_t HG_Core_addr_set_remove(hg_core_addr_t addr);
HG_PUBLIC na_addr_t* HG_Core_addr_get_na(hg_core_addr_t addr) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_addr_self(hg_core_class_t* hg_core_class, hg_core_addr_t* addr);
HG_PUBLIC hg_return_t HG_Core_addr_dup(hg_core_addr_t addr, hg_core_addr_t* copy);
HG_PUBLIC uint8_t HG_Core_addr_cmp(hg_core_addr_t one, hg_core_addr_t other) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Core_addr_is_self(hg_core_addr_t addr) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_addr_to_string(char* text, hg_size_t* bytes, hg_core_addr_t addr);
/* An address as bytes, to be sent in messages. HG_OVERFLOW: the buffer is too small; HG_PROTOCOL_ERROR: malformed
 * bytes. Flags have no effect. */
HG_PUBLIC hg_size_t HG_Core_addr_get_serialize_size(hg_core_addr_t addr, unsigned long flags) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_addr_serialize(void* bytes, hg_size_t count, unsigned long flags, hg_core_addr_t addr);
HG_PUBLIC hg_return_t HG_Core_addr_deserialize(hg_core_class_t* hg_core_class, hg_core_addr_t* addr, const void* bytes,
                                               hg_size_t count, uint64_t flags);

HG_PUBLIC hg_return_t HG_Core_create(hg_core_context_t* context, hg_core_addr_t addr, hg_id_t id,
                                     hg_core_handle_t* handle);
HG_PUBLIC hg_return_t HG_Core_destroy(hg_core_handle_t handle);
HG_PUBLIC hg_return_t HG_Core_reset(hg_core_handle_t handle, hg_core_addr_t addr, hg_id_t id);
HG_PUBLIC hg_return_t HG_Core_ref_incr(hg_core_handle_t handle);
HG_PUBLIC int32_t HG_Core_ref_get(hg_core_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_set_data(hg_core_handle_t handle, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Core_get_data(hg_core_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const struct hg_core_info* HG_Core_get_info(hg_core_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const void* HG_Core_get_rpc_data(hg_core_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_set_target_id(hg_core_handle_t handle, uint8_t id);
HG_PUBLIC size_t HG_Core_get_input_payload_size(hg_core_handle_t handle);
HG_PUBLIC size_t HG_Core_get_output_payload_size(hg_core_handle_t handle);
/* See HG_Get_input_buf, HG_Release_input_buf and HG_Get_output_buf. */
HG_PUBLIC hg_return_t HG_Core_get_input(hg_core_handle_t handle, void** buffer, hg_size_t* size);
HG_PUBLIC hg_return_t HG_Core_release_input(hg_core_handle_t handle);
HG_PUBLIC hg_return_t HG_Core_get_output(hg_core_handle_t handle, void** buffer, hg_size_t* size);
/* Sends the first `payload_size` bytes of the buffer. HG_MSGSIZE: more than the buffer has. */
HG_PUBLIC hg_return_t HG_Core_forward(hg_core_handle_t handle, hg_core_cb_t callback, void* arg, uint8_t flags,
                                      hg_size_t payload_size);
HG_PUBLIC hg_return_t HG_Core_respond(hg_core_handle_t handle, hg_core_cb_t callback, void* arg, uint8_t flags,
                                      hg_size_t payload_size);
HG_PUBLIC hg_return_t HG_Core_cancel(hg_core_handle_t handle);

HG_PUBLIC hg_return_t HG_Core_progress(hg_core_context_t* context, unsigned int timeout);
HG_PUBLIC hg_return_t HG_Core_trigger(hg_core_context_t* context, unsigned int timeout, unsigned int max_count,
                                      unsigned int* actual_count);
HG_PUBLIC int HG_Core_event_get_wait_fd(const hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Core_event_ready(hg_core_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Core_event_progress(hg_core_context_t* context, unsigned int* count);
HG_PUBLIC hg_return_t HG_Core_event_trigger(hg_core_context_t* context, unsigned int max_count,
                                            unsigned int* actual_count);

#ifdef __cplusplus
}
#endif
#endif
