/* SPDX-License-Identifier: BSD-3-Clause
 * HG: remote procedure calls. The interface is that of Mercury 2.4; docs/mercury.md lists the differences.
 *
 * Threads: functions may be called on any thread, also while others are in HG_Progress. Only one thread at a time may
 * use a handle, except for HG_Cancel, HG_Ref_incr and HG_Destroy. Callbacks run only inside HG_Trigger. Functions that
 * return hg_return_t return HG_INVALID_ARG if a required argument is NULL. */
#ifndef MERCURY_H
#define MERCURY_H

#include "mercury_core.h"
#include "mercury_types.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

HG_PUBLIC hg_return_t HG_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch);
/* The name of a return value, in static storage. */
HG_PUBLIC const char* HG_Error_to_string(hg_return_t value) HG_WARN_UNUSED_RESULT;

/* See NA_Get_protocol_info. */
HG_PUBLIC hg_return_t HG_Get_na_protocol_info(const char* info_string, struct na_protocol_info** list);
HG_PUBLIC void HG_Free_na_protocol_info(struct na_protocol_info* list);

/* --- Classes: a network and a table of RPCs, which own everything else. */

/* Opens the network that the string names (docs/mercury.md lists them). `listen`: accepts calls of others. On failure,
 * logs the reason and returns NULL. */
HG_PUBLIC hg_class_t* HG_Init(const char* info_string, uint8_t listen) HG_WARN_UNUSED_RESULT;
/* As HG_Init, with the options of version 2.2, or NULL. */
HG_PUBLIC hg_class_t* HG_Init_opt(const char* info_string, uint8_t listen,
                                  const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
/* `version` says which fields the structure has: HG_VERSION(major, minor). */
HG_PUBLIC hg_class_t* HG_Init_opt2(const char* info_string, uint8_t listen, unsigned int version,
                                   const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
/* HG_BUSY: contexts, addresses or bulk handles still exist; nothing was done. */
HG_PUBLIC hg_return_t HG_Finalize(hg_class_t* hg_class);
/* Removes files of killed processes of this user. */
HG_PUBLIC void HG_Cleanup(void);

/* "none", "error", "warning", "info", "min_debug" or "debug", for all classes. */
HG_PUBLIC void HG_Set_log_level(const char* level);
/* Subsystems, separated by commas; "~" before a name turns it off. "hg" and "na" are the only ones. */
HG_PUBLIC void HG_Set_log_subsys(const char* subsys);
/* Writes lines with this function instead of fprintf. */
HG_PUBLIC void HG_Set_log_func(int (*log_func)(FILE* stream, const char* format, ...));
HG_PUBLIC void HG_Set_log_stream(const char* level, FILE* stream);
/* Writes the counters of all classes to the log, whatever its level. */
HG_PUBLIC void HG_Diag_dump_counters(void);

/* The parts of its info string before and after "+": "ofi" and "tcp", "na" and "sm". */
HG_PUBLIC const char* HG_Class_get_name(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const char* HG_Class_get_protocol(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Class_is_listening(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* The most bytes of arguments, or of a result, that fit one message. */
HG_PUBLIC hg_size_t HG_Class_get_input_eager_size(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_size_t HG_Class_get_output_eager_size(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* Reserves bytes before the arguments and results for the user's own header (HG_Get_input_buf). HG_INVALID_ARG: over
 * the eager size. */
HG_PUBLIC hg_return_t HG_Class_set_input_offset(hg_class_t* hg_class, hg_size_t offset);
HG_PUBLIC hg_return_t HG_Class_set_output_offset(hg_class_t* hg_class, hg_size_t offset);
/* `free_callback` runs in HG_Finalize; may be NULL. */
HG_PUBLIC hg_return_t HG_Class_set_data(hg_class_t* hg_class, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Class_get_data(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Class_get_counters(const hg_class_t* hg_class, struct hg_diag_counters* counters);
/* Called for each new handle, of HG_Create or of a request, before it is used; usually to call HG_Set_data. Its error
 * is returned by HG_Create, or sent as the response to the request. */
HG_PUBLIC hg_return_t HG_Class_set_handle_create_callback(hg_class_t* hg_class,
                                                          hg_return_t (*callback)(hg_handle_t, void*), void* arg);

/* --- Contexts: operations make progress on a context. */

HG_PUBLIC hg_context_t* HG_Context_create(hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* Peers select a context with HG_Set_target_id. A second context with the same id can make calls, but receives no
 * requests: these go to the first one. */
HG_PUBLIC hg_context_t* HG_Context_create_id(hg_class_t* hg_class, uint8_t id) HG_WARN_UNUSED_RESULT;
/* First sends the responses that were given to HG_Respond, for at most a second. Calls and transfers in flight end with
 * HG_CANCELED. Their callbacks run inside this function. HG_BUSY: handles still exist; nothing was done. */
HG_PUBLIC hg_return_t HG_Context_destroy(hg_context_t* context);
/* From now on refuses new requests; everything else continues. */
HG_PUBLIC hg_return_t HG_Context_unpost(hg_context_t* context);
HG_PUBLIC hg_class_t* HG_Context_get_class(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC uint8_t HG_Context_get_id(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Context_set_data(hg_context_t* context, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Context_get_data(const hg_context_t* context) HG_WARN_UNUSED_RESULT;

/* --- Registration. A NULL proc means no arguments or no result; a NULL rpc_cb means that the RPC is called but not
 * served here. */

/* Returns the id, a hash of the name; 0 on failure, for instance if another name has the same hash. */
HG_PUBLIC hg_id_t HG_Register_name(hg_class_t* hg_class, const char* func_name, hg_proc_cb_t in_proc_cb,
                                   hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Registered_name(hg_class_t* hg_class, const char* func_name, hg_id_t* id, uint8_t* flag);
/* If the id is registered already, its callbacks are replaced. */
HG_PUBLIC hg_return_t HG_Register(hg_class_t* hg_class, hg_id_t id, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                                  hg_rpc_cb_t rpc_cb);
/* Later requests get HG_NOENTRY; the data of the registration is freed. HG_NOENTRY: not registered. */
HG_PUBLIC hg_return_t HG_Deregister(hg_class_t* hg_class, hg_id_t id);
HG_PUBLIC hg_return_t HG_Registered(hg_class_t* hg_class, hg_id_t id, uint8_t* flag);
HG_PUBLIC hg_return_t HG_Registered_proc_cb(hg_class_t* hg_class, hg_id_t id, uint8_t* flag, hg_proc_cb_t* in_proc_cb,
                                            hg_proc_cb_t* out_proc_cb);
/* `free_callback` runs in HG_Deregister or HG_Finalize; may be NULL. HG_NOENTRY: not registered. */
HG_PUBLIC hg_return_t HG_Register_data(hg_class_t* hg_class, hg_id_t id, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Registered_data(hg_class_t* hg_class, hg_id_t id) HG_WARN_UNUSED_RESULT;
/* Makes the RPC one-way: HG_Forward completes when the request was sent, and HG_Respond returns HG_OPNOTSUPPORTED. Both
 * sides must set it. */
HG_PUBLIC hg_return_t HG_Registered_disable_response(hg_class_t* hg_class, hg_id_t id, uint8_t disable);
HG_PUBLIC hg_return_t HG_Registered_disabled_response(hg_class_t* hg_class, hg_id_t id, uint8_t* disabled);

/* --- Addresses. Free each one with HG_Addr_free. A connection is made only when it is needed. */

/* Looks up an address and passes it to the callback. */
HG_PUBLIC hg_return_t HG_Addr_lookup1(hg_context_t* context, hg_cb_t callback, void* arg, const char* name,
                                      hg_op_id_t* op_id);
#ifndef HG_Addr_lookup
#define HG_Addr_lookup HG_Addr_lookup1
#endif
/* Looks up an address. HG_INVALID_ARG: not an address; HG_PROTONOSUPPORT: the class has no network of that kind. */
HG_PUBLIC hg_return_t HG_Addr_lookup2(hg_class_t* hg_class, const char* name, hg_addr_t* addr);
HG_PUBLIC hg_return_t HG_Addr_free(hg_class_t* hg_class, hg_addr_t addr);
/* No effect: restarted peers are detected without it. */
HG_PUBLIC hg_return_t HG_Addr_set_remove(hg_class_t* hg_class, hg_addr_t addr);
HG_PUBLIC hg_return_t HG_Addr_self(hg_class_t* hg_class, hg_addr_t* addr);
HG_PUBLIC hg_return_t HG_Addr_dup(hg_class_t* hg_class, hg_addr_t addr, hg_addr_t* copy);
HG_PUBLIC uint8_t HG_Addr_cmp(hg_class_t* hg_class, hg_addr_t one, hg_addr_t other) HG_WARN_UNUSED_RESULT;
/* Writes the text and a null byte. Sets `bytes` to the size needed; HG_OVERFLOW if the buffer was smaller. With a NULL
 * buffer only the size is set. */
HG_PUBLIC hg_return_t HG_Addr_to_string(hg_class_t* hg_class, char* text, hg_size_t* bytes, hg_addr_t addr);

/* --- Handles. */

/* `addr` may be NULL and `id` 0 until HG_Reset sets them. HG_NOENTRY: the id is not registered. HG_AGAIN: too many
 * handles. */
HG_PUBLIC hg_return_t HG_Create(hg_context_t* context, hg_addr_t addr, hg_id_t id, hg_handle_t* handle);
/* Drops a reference. The handle of a handler has two, one of which belongs to the response. If the handler drops its
 * reference without a response, the origin gets HG_CANCELED. */
HG_PUBLIC hg_return_t HG_Destroy(hg_handle_t handle);
/* Prepares the handle for another call. If `addr` is NULL, the handle has no address afterwards; if `id` is 0, it keeps
 * the old id. HG_BUSY: in flight. HG_NOENTRY: the id is not registered. */
HG_PUBLIC hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);
HG_PUBLIC hg_return_t HG_Ref_incr(hg_handle_t handle);
HG_PUBLIC int32_t HG_Ref_get(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const struct hg_info* HG_Get_info(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
/* `free_callback` runs when the handle is freed; may be NULL. */
HG_PUBLIC hg_return_t HG_Set_data(hg_handle_t handle, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Get_data(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
/* Sets the id of the target's context that receives the call; valid until HG_Reset. */
HG_PUBLIC hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);

/* Encoded size, without the user's own header. */
HG_PUBLIC hg_size_t HG_Get_input_payload_size(hg_handle_t handle);
HG_PUBLIC hg_size_t HG_Get_output_payload_size(hg_handle_t handle);
/* Decodes the arguments (target) or the result (origin, after the callback). The handle is kept until the matching
 * HG_Free function. HG_FAULT: registered without a proc. HG_OVERFLOW: the message ends too early. Otherwise errors of
 * the proc. */
HG_PUBLIC hg_return_t HG_Get_input(hg_handle_t handle, void* in_struct);
HG_PUBLIC hg_return_t HG_Free_input(hg_handle_t handle, void* in_struct);
HG_PUBLIC hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct);
HG_PUBLIC hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct);
/* The message buffers. Write to them before HG_Forward (input, at the origin) or HG_Respond (output, at the target);
 * read them on the other side. `size` may be NULL. HG_FAULT: there is no buffer now. */
HG_PUBLIC hg_return_t HG_Get_input_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
HG_PUBLIC hg_return_t HG_Get_output_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
/* Releases the receive memory of the arguments early. */
HG_PUBLIC hg_return_t HG_Release_input_buf(hg_handle_t handle);
/* The buffer for arguments or results that do not fit a message; NULL otherwise. */
HG_PUBLIC hg_return_t HG_Get_input_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
HG_PUBLIC hg_return_t HG_Get_output_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size);

/* Sends a call. HG_SUCCESS: the callback will run once, with HG_SUCCESS, HG_CANCELED (HG_Cancel), HG_HOSTUNREACH
 * (refused, no route, or the peer is lost), HG_NOENTRY (not registered there), HG_TIMEOUT (only if a deadline was set),
 * HG_AGAIN (overloaded), HG_PROTOCOL_ERROR, HG_OVERFLOW or HG_CHECKSUM_ERROR. Otherwise the callback does not run:
 * HG_BUSY (in flight), HG_INVALID_ARG (no address or id yet), HG_AGAIN, HG_OVERFLOW, errors of the proc. */
HG_PUBLIC hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct);
/* Responds, once. The callback, which may be NULL, runs when the reply has been sent. HG_OPNOTSUPPORTED: one-way, or
 * responded already. */
HG_PUBLIC hg_return_t HG_Respond(hg_handle_t handle, hg_cb_t callback, void* arg, void* out_struct);
/* Cancels a call in flight; the cancel is also sent to the target. A response that is being sent is not canceled. */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

/* --- Progress. */

/* HG_SUCCESS: progress was made, or a callback is ready; HG_TIMEOUT: neither within `timeout` milliseconds. */
HG_PUBLIC hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout);
/* Runs callbacks. Waits up to `timeout` milliseconds for the first one and makes progress meanwhile. HG_TIMEOUT: there
 * was none. `actual_count` may be NULL. */
HG_PUBLIC hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);
/* A file descriptor for the program's own event loop. Before each wait, call HG_Event_ready; if it returns true, do not
 * wait. */
HG_PUBLIC int HG_Event_get_wait_fd(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Event_ready(hg_context_t* context) HG_WARN_UNUSED_RESULT;
/* Makes progress without waiting. `count`: the number of callbacks that are ready; may be NULL. */
HG_PUBLIC hg_return_t HG_Event_progress(hg_context_t* context, unsigned int* count);
/* Runs callbacks without waiting. `actual_count` may be NULL. */
HG_PUBLIC hg_return_t HG_Event_trigger(hg_context_t* context, unsigned int max_count, unsigned int* actual_count);

#ifdef __cplusplus
}
#endif
#endif
