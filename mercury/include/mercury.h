/* SPDX-License-Identifier: BSD-3-Clause
 * HG: calls between processes. The interface is Mercury's 2.4; what is different here is in docs/mercury.md.
 *
 * Threads: any thread may call anything, also while others are in HG_Progress, with what its object allows: one thread
 * at a time uses a handle, but HG_Cancel, HG_Ref_incr and HG_Destroy. Callbacks run from HG_Trigger alone.
 * Functions that return hg_return_t answer HG_INVALID_ARG for a null argument that they need. */
#ifndef MERCURY_H
#define MERCURY_H

#include "mercury_core.h"
#include "mercury_types.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

HG_PUBLIC hg_return_t HG_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch);
/* The name of a return value; static. */
HG_PUBLIC const char* HG_Error_to_string(hg_return_t value) HG_WARN_UNUSED_RESULT;

/* As NA_Get_protocol_info. */
HG_PUBLIC hg_return_t HG_Get_na_protocol_info(const char* info_string, struct na_protocol_info** list);
HG_PUBLIC void HG_Free_na_protocol_info(struct na_protocol_info* list);

/* --- Classes: a network, the table of RPCs, everything that belongs to them. */

/* Opens the network that the string names (docs/mercury.md lists them); `listen`: others can call. NULL, with a line in
 * the log, when that fails. */
HG_PUBLIC hg_class_t* HG_Init(const char* info_string, uint8_t listen) HG_WARN_UNUSED_RESULT;
/* With options as version 2.2 knew them, or NULL. */
HG_PUBLIC hg_class_t* HG_Init_opt(const char* info_string, uint8_t listen,
                                  const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
/* `version` says which fields the structure has: HG_VERSION(major, minor). */
HG_PUBLIC hg_class_t* HG_Init_opt2(const char* info_string, uint8_t listen, unsigned int version,
                                   const struct hg_init_info* options) HG_WARN_UNUSED_RESULT;
/* HG_BUSY: contexts, addresses or bulk handles are left; nothing was done. */
HG_PUBLIC hg_return_t HG_Finalize(hg_class_t* hg_class);
/* Removes what killed processes of this user left behind. */
HG_PUBLIC void HG_Cleanup(void);

/* "none", "error", "warning", "min_debug" or "debug"; any class. */
HG_PUBLIC void HG_Set_log_level(const char* level);
/* Subsystems between commas, "~" in front of one turns it off; "hg" and "na" are all of them. */
HG_PUBLIC void HG_Set_log_subsys(const char* subsys);
/* Lines go through it instead of fprintf. */
HG_PUBLIC void HG_Set_log_func(int (*log_func)(FILE* stream, const char* format, ...));
HG_PUBLIC void HG_Set_log_stream(const char* level, FILE* stream);
/* Writes the counters of all classes to the log, whatever its level. */
HG_PUBLIC void HG_Diag_dump_counters(void);

/* The words before and behind the "+" of its string: "ofi" and "tcp", "na" and "sm". */
HG_PUBLIC const char* HG_Class_get_name(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const char* HG_Class_get_protocol(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Class_is_listening(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* Bytes of arguments, or of a result, that go in one message. */
HG_PUBLIC hg_size_t HG_Class_get_input_eager_size(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_size_t HG_Class_get_output_eager_size(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* Keeps bytes in front of arguments and results for the user's own use (HG_Get_input_buf). HG_INVALID_ARG: over the
 * eager size. */
HG_PUBLIC hg_return_t HG_Class_set_input_offset(hg_class_t* hg_class, hg_size_t offset);
HG_PUBLIC hg_return_t HG_Class_set_output_offset(hg_class_t* hg_class, hg_size_t offset);
/* `free_callback` runs in HG_Finalize; may be NULL. */
HG_PUBLIC hg_return_t HG_Class_set_data(hg_class_t* hg_class, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Class_get_data(const hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Class_get_counters(const hg_class_t* hg_class, struct hg_diag_counters* counters);
/* Called for each handle, made by HG_Create or for a request, before anybody else sees it; usually to HG_Set_data. An
 * error of it becomes that of HG_Create, or the answer to the request. */
HG_PUBLIC hg_return_t HG_Class_set_handle_create_callback(hg_class_t* hg_class,
                                                          hg_return_t (*callback)(hg_handle_t, void*), void* arg);

/* --- Contexts: where progress is made. */

HG_PUBLIC hg_context_t* HG_Context_create(hg_class_t* hg_class) HG_WARN_UNUSED_RESULT;
/* Peers reach it by HG_Set_target_id. A second one of the same id makes calls, but requests go to the first. */
HG_PUBLIC hg_context_t* HG_Context_create_id(hg_class_t* hg_class, uint8_t id) HG_WARN_UNUSED_RESULT;
/* Answers that were given leave first, for a second at most; calls and transfers in flight end with HG_CANCELED. All
 * their callbacks run inside. HG_BUSY: handles are left; nothing was done. */
HG_PUBLIC hg_return_t HG_Context_destroy(hg_context_t* context);
/* Requests that come from now on are refused; the rest goes on. */
HG_PUBLIC hg_return_t HG_Context_unpost(hg_context_t* context);
HG_PUBLIC hg_class_t* HG_Context_get_class(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC uint8_t HG_Context_get_id(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Context_set_data(hg_context_t* context, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Context_get_data(const hg_context_t* context) HG_WARN_UNUSED_RESULT;

/* --- Registration. A NULL proc: no arguments, or no result. A NULL rpc_cb: only called, not served. */

/* The id is a hash of the name; 0 on failure, also when another name has the same hash. */
HG_PUBLIC hg_id_t HG_Register_name(hg_class_t* hg_class, const char* func_name, hg_proc_cb_t in_proc_cb,
                                   hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb) HG_WARN_UNUSED_RESULT;
HG_PUBLIC hg_return_t HG_Registered_name(hg_class_t* hg_class, const char* func_name, hg_id_t* id, uint8_t* flag);
/* An id that is registered already is changed. */
HG_PUBLIC hg_return_t HG_Register(hg_class_t* hg_class, hg_id_t id, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                                  hg_rpc_cb_t rpc_cb);
/* Requests that come later are answered HG_NOENTRY; its data is freed. HG_NOENTRY: not registered. */
HG_PUBLIC hg_return_t HG_Deregister(hg_class_t* hg_class, hg_id_t id);
HG_PUBLIC hg_return_t HG_Registered(hg_class_t* hg_class, hg_id_t id, uint8_t* flag);
HG_PUBLIC hg_return_t HG_Registered_proc_cb(hg_class_t* hg_class, hg_id_t id, uint8_t* flag, hg_proc_cb_t* in_proc_cb,
                                            hg_proc_cb_t* out_proc_cb);
/* `free_callback` runs in HG_Deregister or HG_Finalize; may be NULL. HG_NOENTRY: not registered. */
HG_PUBLIC hg_return_t HG_Register_data(hg_class_t* hg_class, hg_id_t id, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Registered_data(hg_class_t* hg_class, hg_id_t id) HG_WARN_UNUSED_RESULT;
/* One-way: HG_Forward completes when the request was sent; HG_Respond is HG_OPNOTSUPPORTED. Both sides say it. */
HG_PUBLIC hg_return_t HG_Registered_disable_response(hg_class_t* hg_class, hg_id_t id, uint8_t disable);
HG_PUBLIC hg_return_t HG_Registered_disabled_response(hg_class_t* hg_class, hg_id_t id, uint8_t* disabled);

/* --- Addresses: each that is handed out is freed with HG_Addr_free. No connection is made before it is needed. */

/* The callback has the address. */
HG_PUBLIC hg_return_t HG_Addr_lookup1(hg_context_t* context, hg_cb_t callback, void* arg, const char* name,
                                      hg_op_id_t* op_id);
#ifndef HG_Addr_lookup
#define HG_Addr_lookup HG_Addr_lookup1
#endif
/* HG_INVALID_ARG: not an address; HG_PROTONOSUPPORT: of no network of this class. */
HG_PUBLIC hg_return_t HG_Addr_lookup2(hg_class_t* hg_class, const char* name, hg_addr_t* addr);
HG_PUBLIC hg_return_t HG_Addr_free(hg_class_t* hg_class, hg_addr_t addr);
/* Without effect here: a peer that was restarted is noticed. */
HG_PUBLIC hg_return_t HG_Addr_set_remove(hg_class_t* hg_class, hg_addr_t addr);
HG_PUBLIC hg_return_t HG_Addr_self(hg_class_t* hg_class, hg_addr_t* addr);
HG_PUBLIC hg_return_t HG_Addr_dup(hg_class_t* hg_class, hg_addr_t addr, hg_addr_t* copy);
HG_PUBLIC uint8_t HG_Addr_cmp(hg_class_t* hg_class, hg_addr_t one, hg_addr_t other) HG_WARN_UNUSED_RESULT;
/* With a terminating null byte. `bytes` comes back as the room that is needed; HG_OVERFLOW when there was less. A NULL
 * text only asks. */
HG_PUBLIC hg_return_t HG_Addr_to_string(hg_class_t* hg_class, char* text, hg_size_t* bytes, hg_addr_t addr);

/* --- Handles. */

/* `addr` NULL or `id` 0: they come with HG_Reset. HG_NOENTRY: the id is not registered. HG_AGAIN: too many handles. */
HG_PUBLIC hg_return_t HG_Create(hg_context_t* context, hg_addr_t addr, hg_id_t id, hg_handle_t* handle);
/* Gives a reference back. A handler's handle has two, one of which belongs to the response: a handle that is given back
 * without one answers HG_CANCELED. */
HG_PUBLIC hg_return_t HG_Destroy(hg_handle_t handle);
/* Makes it ready for another call; what is NULL or 0 stays. HG_BUSY: in flight. HG_NOENTRY: the id is not registered.
 */
HG_PUBLIC hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);
HG_PUBLIC hg_return_t HG_Ref_incr(hg_handle_t handle);
HG_PUBLIC int32_t HG_Ref_get(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
HG_PUBLIC const struct hg_info* HG_Get_info(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
/* `free_callback` runs when the handle goes; may be NULL. */
HG_PUBLIC hg_return_t HG_Set_data(hg_handle_t handle, void* data, void (*free_callback)(void*));
HG_PUBLIC void* HG_Get_data(hg_handle_t handle) HG_WARN_UNUSED_RESULT;
/* Which context of the target gets the call; until HG_Reset. */
HG_PUBLIC hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);

/* Encoded bytes, without the user's own in front. */
HG_PUBLIC hg_size_t HG_Get_input_payload_size(hg_handle_t handle);
HG_PUBLIC hg_size_t HG_Get_output_payload_size(hg_handle_t handle);
/* Decodes arguments (at the target) or the result (at the origin, after the callback); the handle lives until the
 * matching HG_Free. HG_FAULT: registered without a proc. Errors of the proc; HG_OVERFLOW: the bytes end too early. */
HG_PUBLIC hg_return_t HG_Get_input(hg_handle_t handle, void* in_struct);
HG_PUBLIC hg_return_t HG_Free_input(hg_handle_t handle, void* in_struct);
HG_PUBLIC hg_return_t HG_Get_output(hg_handle_t handle, void* out_struct);
HG_PUBLIC hg_return_t HG_Free_output(hg_handle_t handle, void* out_struct);
/* The bytes themselves: room to write before HG_Forward (input, origin) and HG_Respond (output, target), what came at
 * the other side. `size` may be NULL. HG_FAULT: there are none now. */
HG_PUBLIC hg_return_t HG_Get_input_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
HG_PUBLIC hg_return_t HG_Get_output_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
/* The arguments' memory is given back to the network early. */
HG_PUBLIC hg_return_t HG_Release_input_buf(hg_handle_t handle);
/* What did not fit a message; NULL otherwise. */
HG_PUBLIC hg_return_t HG_Get_input_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size);
HG_PUBLIC hg_return_t HG_Get_output_extra_buf(hg_handle_t handle, void** buffer, hg_size_t* size);

/* Calls. HG_SUCCESS: the callback runs once, with the result or HG_CANCELED (HG_Cancel), HG_HOSTUNREACH (refused, no
 * way, or the peer is gone), HG_NOENTRY (not registered there), HG_TIMEOUT (only where a deadline was set), HG_AGAIN
 * (too much at once), HG_PROTOCOL_ERROR, HG_OVERFLOW, HG_CHECKSUM_ERROR. Else it does not run: HG_BUSY (in flight),
 * HG_INVALID_ARG (no address or id yet), HG_AGAIN, HG_OVERFLOW, errors of the proc. */
HG_PUBLIC hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in_struct);
/* Answers, once. The callback, which may be NULL, runs when the reply has left. HG_OPNOTSUPPORTED: one-way, or answered
 * already. */
HG_PUBLIC hg_return_t HG_Respond(hg_handle_t handle, hg_cb_t callback, void* arg, void* out_struct);
/* Asks for an early end of a call in flight; the handler is told as well. A reply that is on its way is not stopped. */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

/* --- Progress. */

/* HG_SUCCESS: something was done, or a callback waits; HG_TIMEOUT: nothing within so many milliseconds. */
HG_PUBLIC hg_return_t HG_Progress(hg_context_t* context, unsigned int timeout);
/* Runs callbacks; waits for the first of them for so many milliseconds, making progress meanwhile. HG_TIMEOUT: there
 * was none. `actual_count` may be NULL. */
HG_PUBLIC hg_return_t HG_Trigger(hg_context_t* context, unsigned int timeout, unsigned int max_count,
                                 unsigned int* actual_count);
/* A descriptor to wait on in a loop of one's own: call HG_Event_ready before each wait; true: do not wait. */
HG_PUBLIC int HG_Event_get_wait_fd(const hg_context_t* context) HG_WARN_UNUSED_RESULT;
HG_PUBLIC bool HG_Event_ready(hg_context_t* context) HG_WARN_UNUSED_RESULT;
/* Never waits. `count`: callbacks that wait; may be NULL. */
HG_PUBLIC hg_return_t HG_Event_progress(hg_context_t* context, unsigned int* count);
/* Never waits. `actual_count` may be NULL. */
HG_PUBLIC hg_return_t HG_Event_trigger(hg_context_t* context, unsigned int max_count, unsigned int* actual_count);

#ifdef __cplusplus
}
#endif
#endif
