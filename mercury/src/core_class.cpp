// SPDX-License-Identifier: BSD-3-Clause
// Implements HG_Core's classes, contexts, registrations and progress.
#include "core_objects.hpp"

using namespace cinnabar;
using mercury::core;
using mercury::hg;

hg_return_t HG_Core_get_na_protocol_info(const char* info_string, struct na_protocol_info** list) {
    return HG_Get_na_protocol_info(info_string, list);
}
void HG_Core_free_na_protocol_info(struct na_protocol_info* list) { NA_Free_protocol_info(list); }

hg_core_class_t* HG_Core_init(const char* info_string, uint8_t listen) { return core(HG_Init(info_string, listen)); }
hg_core_class_t* HG_Core_init_opt(const char* info_string, uint8_t listen, const struct hg_init_info* options) {
    return core(HG_Init_opt(info_string, listen, options));
}
hg_core_class_t* HG_Core_init_opt2(const char* info_string, uint8_t listen, unsigned int version,
                                   const struct hg_init_info* options) {
    return core(HG_Init_opt2(info_string, listen, version, options));
}
hg_return_t HG_Core_finalize(hg_core_class_t* of) { return HG_Finalize(hg(of)); }
void HG_Core_cleanup(void) { HG_Cleanup(); }
hg_return_t HG_Core_set_more_data_callback(struct hg_core_class* of,
                                           hg_return_t (*acquire)(hg_core_handle_t, hg_op_t,
                                                                  void (*done)(hg_core_handle_t, hg_return_t)),
                                           void (*release)(hg_core_handle_t)) {
    if (!of) return HG_INVALID_ARG;
    hg(of)->more_acquire = acquire;
    hg(of)->more_release = release;
    return HG_SUCCESS;
}

const char* HG_Core_class_get_name(const hg_core_class_t* of) { return HG_Class_get_name(hg(of)); }
const char* HG_Core_class_get_protocol(const hg_core_class_t* of) { return HG_Class_get_protocol(hg(of)); }
bool HG_Core_class_is_listening(const hg_core_class_t* of) { return HG_Class_is_listening(hg(of)); }
na_class_t* HG_Core_class_get_na(const hg_core_class_t* of) { return of ? hg(of)->network : nullptr; }
hg_size_t HG_Core_class_get_input_eager_size(const hg_core_class_t* of) {
    return of ? HG_Class_get_input_eager_size(hg(of)) - mercury::core_flags_bytes : 0;
}
hg_size_t HG_Core_class_get_output_eager_size(const hg_core_class_t* of) {
    return of ? HG_Class_get_output_eager_size(hg(of)) - mercury::core_flags_bytes : 0;
}
hg_return_t HG_Core_class_set_data(hg_core_class_t* of, void* data, void (*free_callback)(void*)) {
    return HG_Class_set_data(hg(of), data, free_callback);
}
void* HG_Core_class_get_data(const hg_core_class_t* of) { return HG_Class_get_data(hg(of)); }
hg_return_t HG_Core_class_get_counters(const hg_core_class_t* of, struct hg_diag_counters* counters) {
    return HG_Class_get_counters(hg(of), counters);
}

hg_core_context_t* HG_Core_context_create(hg_core_class_t* of) { return core(HG_Context_create(hg(of))); }
hg_core_context_t* HG_Core_context_create_id(hg_core_class_t* of, uint8_t id) {
    return core(HG_Context_create_id(hg(of), id));
}
hg_return_t HG_Core_context_destroy(hg_core_context_t* context) { return HG_Context_destroy(hg(context)); }
hg_core_class_t* HG_Core_context_get_class(const hg_core_context_t* context) {
    return core(HG_Context_get_class(hg(context)));
}
uint8_t HG_Core_context_get_id(const hg_core_context_t* context) { return HG_Context_get_id(hg(context)); }
hg_return_t HG_Core_context_set_data(hg_core_context_t* context, void* data, void (*free_callback)(void*)) {
    return HG_Context_set_data(hg(context), data, free_callback);
}
void* HG_Core_context_get_data(const hg_core_context_t* context) { return HG_Context_get_data(hg(context)); }
unsigned int HG_Core_context_get_completion_count(const hg_core_context_t* context) {
    return context ? hg(context)->rpc->na().completions() : 0;
}
hg_return_t HG_Core_context_set_handle_create_callback(hg_core_context_t* context,
                                                       hg_return_t (*callback)(hg_core_handle_t, void*), void* arg) {
    if (!context) return HG_INVALID_ARG;
    hg(context)->core_handle_created = callback;
    hg(context)->core_handle_created_arg = arg;
    return HG_SUCCESS;
}
hg_return_t HG_Core_context_post(hg_core_context_t* context) {
    if (!context) return HG_INVALID_ARG;
    hg(context)->unposted.store(false, std::memory_order_relaxed);
    return HG_SUCCESS;
}
hg_return_t HG_Core_context_unpost(hg_core_context_t* context) { return HG_Context_unpost(hg(context)); }

hg_return_t HG_Core_register(hg_core_class_t* of, hg_id_t id, hg_core_rpc_cb_t rpc_cb) {
    if (!of) return HG_INVALID_ARG;
    return mercury::register_id(*hg(of), id, {nullptr, nullptr, nullptr, rpc_cb});
}
hg_return_t HG_Core_deregister(hg_core_class_t* of, hg_id_t id) { return HG_Deregister(hg(of), id); }
hg_return_t HG_Core_registered(hg_core_class_t* of, hg_id_t id, uint8_t* flag) {
    return HG_Registered(hg(of), id, flag);
}
hg_return_t HG_Core_register_data(hg_core_class_t* of, hg_id_t id, void* data, void (*free_callback)(void*)) {
    return HG_Register_data(hg(of), id, data, free_callback);
}
void* HG_Core_registered_data(hg_core_class_t* of, hg_id_t id) { return HG_Registered_data(hg(of), id); }
hg_return_t HG_Core_registered_disable_response(hg_core_class_t* of, hg_id_t id, uint8_t disable) {
    return HG_Registered_disable_response(hg(of), id, disable);
}
hg_return_t HG_Core_registered_disabled_response(hg_core_class_t* of, hg_id_t id, uint8_t* disabled) {
    return HG_Registered_disabled_response(hg(of), id, disabled);
}

hg_return_t HG_Core_progress(hg_core_context_t* context, unsigned int timeout) {
    return HG_Progress(hg(context), timeout);
}
hg_return_t HG_Core_trigger(hg_core_context_t* context, unsigned int timeout, unsigned int max_count,
                            unsigned int* actual_count) {
    return HG_Trigger(hg(context), timeout, max_count, actual_count);
}
int HG_Core_event_get_wait_fd(const hg_core_context_t* context) { return HG_Event_get_wait_fd(hg(context)); }
bool HG_Core_event_ready(hg_core_context_t* context) { return HG_Event_ready(hg(context)); }
hg_return_t HG_Core_event_progress(hg_core_context_t* context, unsigned int* count) {
    return HG_Event_progress(hg(context), count);
}
hg_return_t HG_Core_event_trigger(hg_core_context_t* context, unsigned int max_count, unsigned int* actual_count) {
    return HG_Event_trigger(hg(context), max_count, actual_count);
}
