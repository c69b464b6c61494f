/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that the other programs do not use: older ways to open, references, user data, NA's classes and addresses,
 * and HG_Core's names for all of these. */
#include "both_sides.h"

#include <mercury_core.h>
#include <poll.h>
#include <string.h>

static int freed;
static void count_freed(void* arg) {
    CHECK(arg == &freed);
    ++freed;
}

static hg_return_t serve_null(hg_handle_t handle) {
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* The options of Mercury 2.2 are shorter. */
static void older_inits(void) {
    const struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    hg_class_t* hg_class = HG_Init_opt("na+sm", HG_FALSE, &options);
    CHECK(hg_class != NULL && HG_Class_get_output_eager_size(hg_class) >= 512);
    CHECK_OK(HG_Finalize(hg_class));
    hg_core_class_t* core = HG_Core_init_opt("na+sm", HG_FALSE, &options);
    CHECK(core != NULL && strcmp(HG_Core_class_get_name(core), "na") == 0);
    CHECK_OK(HG_Core_finalize(core));
    core = HG_Core_init_opt2("na+sm", HG_FALSE, HG_VERSION(2, 4), &options);
    CHECK(core != NULL && HG_Core_class_get_output_eager_size(core) >= 512);
    CHECK_OK(HG_Core_finalize(core));
    HG_Cleanup();
    HG_Core_cleanup();
}

static void references(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK(HG_Ref_get(handle) == 1);
    CHECK_OK(HG_Ref_incr(handle));
    CHECK(HG_Ref_get(handle) == 2);
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(call(both, handle, NULL));
    CHECK_OK(HG_Destroy(handle));

    char memory[64] = "bytes";
    void* base = memory;
    hg_size_t bytes = sizeof memory;
    hg_bulk_t bulk = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(both->client.hg_class, 1, &base, &bytes, HG_BULK_READ_ONLY, &bulk));
    CHECK_OK(HG_Bulk_ref_incr(bulk));
    CHECK_OK(HG_Bulk_free(bulk));
    CHECK(HG_Bulk_get_size(bulk) == sizeof memory && HG_Bulk_get_segment_count(bulk) == 1);
    CHECK_OK(HG_Bulk_free(bulk));
}

static hg_return_t give_data(hg_core_handle_t handle, void* arg) { return HG_Core_set_data(handle, arg, count_freed); }

static void core_keeps_data(struct both_sides* both) {
    hg_core_class_t* core = (hg_core_class_t*)both->client.hg_class;
    CHECK_OK(HG_Core_class_set_data(core, &freed, NULL));
    CHECK(HG_Core_class_get_data(core) == &freed && HG_Class_get_data(both->client.hg_class) == &freed);
    hg_core_context_t* context = HG_Core_context_create(core);
    CHECK(context != NULL);
    freed = 0;
    CHECK_OK(HG_Core_context_set_data(context, &freed, count_freed));
    CHECK(HG_Core_context_get_data(context) == &freed);
    CHECK_OK(HG_Core_context_set_handle_create_callback(context, give_data, &freed));
    hg_core_handle_t handle = HG_CORE_HANDLE_NULL;
    CHECK_OK(HG_Core_create(context, (hg_core_addr_t)both->to, 77, &handle));
    CHECK(HG_Core_get_data(handle) == &freed && HG_Core_ref_get(handle) == 1);
    CHECK_OK(HG_Core_ref_incr(handle));
    CHECK_OK(HG_Core_destroy(handle));
    CHECK_OK(HG_Core_set_target_id(handle, 3));
    CHECK(HG_Core_get_info(handle)->context_id == 3);
    CHECK(freed == 0);
    CHECK_OK(HG_Core_destroy(handle));
    CHECK(freed == 1);
    CHECK_OK(HG_Core_context_destroy(context));
    CHECK(freed == 2);
}

static hg_return_t serve_core(hg_core_handle_t handle) { return HG_Core_destroy(handle); }

static void core_registers(struct both_sides* both) {
    hg_core_class_t* core = (hg_core_class_t*)both->server.hg_class;
    uint8_t flag = HG_TRUE;
    CHECK_OK(HG_Core_registered(core, 78, &flag));
    CHECK(!flag);
    CHECK_RET(HG_Core_deregister(core, 78), HG_NOENTRY);
    CHECK_RET(HG_Core_register(NULL, 78, serve_core), HG_INVALID_ARG);
    CHECK_OK(HG_Core_register(core, 78, serve_core));
    CHECK_OK(HG_Core_registered(core, 78, &flag));
    CHECK(flag);
    freed = 0;
    CHECK_OK(HG_Core_register_data(core, 78, &freed, count_freed));
    CHECK(HG_Core_registered_data(core, 78) == &freed);
    CHECK_OK(HG_Core_registered_disable_response(core, 78, HG_TRUE));
    CHECK_OK(HG_Core_registered_disabled_response(core, 78, &flag));
    CHECK(flag);
    CHECK_OK(HG_Core_deregister(core, 78));
    CHECK(freed == 1);
    struct hg_diag_counters counters;
    CHECK_OK(HG_Core_class_get_counters(core, &counters));
    CHECK(counters.rpc_req_recv_count > 0 && counters.rpc_multi_recv_copy_count == 0);
}

static void core_finds(struct both_sides* both) {
    hg_core_class_t* core = (hg_core_class_t*)both->server.hg_class;
    hg_core_addr_t self = HG_CORE_ADDR_NULL;
    hg_core_addr_t found = HG_CORE_ADDR_NULL;
    char text[256];
    hg_size_t bytes = sizeof text;
    CHECK_OK(HG_Core_addr_self(core, &self));
    CHECK(HG_Core_addr_is_self(self));
    CHECK_OK(HG_Core_addr_to_string(text, &bytes, self));
    CHECK_OK(HG_Core_addr_lookup2(core, text, &found));
    CHECK(HG_Core_addr_cmp(self, found) && HG_Core_addr_is_self(found));
    CHECK_OK(HG_Core_addr_free(found));
    CHECK_OK(HG_Core_addr_free(self));
    struct na_protocol_info* list = NULL;
    CHECK_OK(HG_Core_get_na_protocol_info("na+sm", &list));
    CHECK(list != NULL && strcmp(list->protocol_name, "sm") == 0);
    HG_Core_free_na_protocol_info(list);
}

/* As in the user's own event loop: sleeps on the descriptor only if nothing is ready. */
static void core_events(struct both_sides* both, hg_id_t id) {
    hg_core_context_t* server = (hg_core_context_t*)both->server.context;
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    struct pollfd descriptor = {HG_Core_event_get_wait_fd(server), POLLIN, 0};
    CHECK(descriptor.fd >= 0);
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    const double end = now_ms() + 20e3;
    while (told.count == 0 && now_ms() < end) {
        unsigned count = 0;
        if (!HG_Core_event_ready(server)) (void)poll(&descriptor, 1, 1);
        CHECK_OK(HG_Core_event_progress(server, &count));
        CHECK_OK(HG_Core_event_trigger(server, 16, &count));
        (void)HG_Progress(both->client.context, 0);
        (void)HG_Trigger(both->client.context, 0, 16, &count);
    }
    CHECK(told.count == 1 && told.ret == HG_SUCCESS);
    CHECK_OK(HG_Destroy(handle));
}

static void networks(const char* info_string) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 77;
    CHECK(NA_Version_get(&major, &minor, &patch) == NA_SUCCESS && major >= 5 && patch != 77);
    const struct na_init_info options = NA_INIT_INFO_INITIALIZER;
    na_class_t* network = NA_Initialize_opt(info_string, true, &options);
    CHECK(network != NULL && NA_Msg_get_max_tag(network) > 0 && !NA_Has_opt_feature(network, 1));
    na_addr_t* self = NULL;
    na_addr_t* copy = NULL;
    char bytes[512];
    CHECK(NA_Addr_self(network, &self) == NA_SUCCESS);
    CHECK(NA_Addr_dup(network, self, &copy) == NA_SUCCESS && NA_Addr_cmp(network, self, copy));
    CHECK(NA_Addr_set_remove(network, copy) == NA_SUCCESS);
    NA_Addr_free(network, copy);
    const size_t needed = NA_Addr_get_serialize_size(network, self);
    CHECK(needed > 0 && needed <= sizeof bytes);
    CHECK(NA_Addr_serialize(network, bytes, needed - 1, self) == NA_OVERFLOW);
    CHECK(NA_Addr_serialize(network, bytes, needed, self) == NA_SUCCESS);
    const char empty[11] = {0}; /* no endpoint, no incarnation */
    HG_Set_log_level("none");
    CHECK(NA_Addr_deserialize(network, &copy, empty, sizeof empty, 0) == NA_PROTOCOL_ERROR);
    HG_Set_log_level("warning");
    CHECK(NA_Addr_deserialize(network, &copy, bytes, needed, 0) == NA_SUCCESS);
    CHECK(NA_Addr_cmp(network, self, copy) && NA_Addr_is_self(network, copy));
    NA_Addr_free(network, copy);
    NA_Addr_free(network, self);
    CHECK(NA_Finalize(network) == NA_SUCCESS);
    struct na_protocol_info* list = NULL;
    CHECK(NA_Get_protocol_info(NULL, &list) == NA_SUCCESS && list != NULL);
    NA_Free_protocol_info(list);
    NA_Diag_dump_counters();
    NA_Cleanup();
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    older_inits();
    networks(init_string(argv[1], true));
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t id = HG_Register_name(both.server.hg_class, "null", NULL, NULL, serve_null);
    CHECK(HG_Register_name(both.client.hg_class, "null", NULL, NULL, serve_null) == id);
    CHECK_OK(HG_Register(both.client.hg_class, 77, NULL, NULL, NULL));
    references(&both, id);
    core_keeps_data(&both);
    core_registers(&both);
    core_finds(&both);
    core_events(&both, id);
    close_both_sides(&both);
    return 0;
}
