/* SPDX-License-Identifier: BSD-3-Clause
 * Classes, contexts, addresses, registration, counters, the log, versions and protocols. */
#include "both_sides.h"

#include <poll.h>
#include <stdarg.h>
#include <string.h>

static int freed;
static void count_freed(void* data) {
    CHECK(data == &freed);
    ++freed;
}

static hg_return_t serve_nothing(hg_handle_t handle) {
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_context_t* served_by;
static uint8_t called_from;
static hg_return_t serve_where(hg_handle_t handle) {
    served_by = HG_Get_info(handle)->context;
    called_from = HG_Get_info(handle)->context_id;
    return serve_nothing(handle);
}

static void versions(void) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 99;
    CHECK_OK(HG_Version_get(&major, &minor, &patch));
    CHECK(major == 2 && minor == 4 && patch != 99);
    CHECK(HG_VERSION_GE(HG_VERSION(major, minor), HG_VERSION(2, 4)));
    CHECK(strcmp(HG_Error_to_string(HG_CANCELED), "HG_CANCELED") == 0);
    CHECK(strcmp(HG_Error_to_string(HG_RETURN_MAX), "HG_UNKNOWN") == 0);
    CHECK(strcmp(NA_Error_to_string(NA_HOSTFIREWALL), "NA_HOSTFIREWALL") == 0);
}

static void protocols(void) {
    struct na_protocol_info* list = NULL;
    CHECK_OK(HG_Get_na_protocol_info(NULL, &list));
    int all = 0;
    for (struct na_protocol_info* at = list; at; at = at->next) ++all;
    CHECK(all >= 4);
    HG_Free_na_protocol_info(list);
    CHECK_OK(HG_Get_na_protocol_info("na+sm", &list));
    CHECK(strcmp(list->class_name, "na") == 0 && strcmp(list->protocol_name, "sm") == 0 && !list->next);
    HG_Free_na_protocol_info(list);
    CHECK_RET(HG_Get_na_protocol_info("na+nothing", &list), HG_PROTONOSUPPORT);
    CHECK(list == NULL);
}

static void strings(void) {
    static const char* const good[] = {"na+sm",
                                       "sm",
                                       "na+sm://here",
                                       "tcp",
                                       "ofi+tcp",
                                       "ofi+tcp;ofi_rxm",
                                       "ofi+sockets",
                                       "ofi+tcp://127.0.0.1:0",
                                       "ofi+tcp://lo/127.0.0.1:0",
                                       "tcp://lo",
                                       "cinnabar+tcp://lo:0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        for (int listen = 0; listen < 2; ++listen) {
            hg_class_t* hg_class = HG_Init(good[i], (uint8_t)listen);
            if (!hg_class) fprintf(stderr, "%s\n", good[i]);
            CHECK(hg_class != NULL && HG_Class_is_listening(hg_class) == (listen != 0));
            CHECK(strlen(HG_Class_get_name(hg_class)) != 0 && strlen(HG_Class_get_protocol(hg_class)) != 0);
            CHECK_OK(HG_Finalize(hg_class));
        }
    }
    static const char* const bad[] = {
        "",         "nothing",   "ofi+nothing",         "other+tcp", "tcp://a b", "ofi+tcp://127.0.0.1:99999",
        "cinnabar", "cinnabar+", "cinnabar+nothing://", "ofi+cxi"};
    HG_Set_log_level("none");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) CHECK(HG_Init(bad[i], HG_TRUE) == NULL);
    CHECK(HG_Init(NULL, HG_TRUE) == NULL);
    HG_Set_log_level("warning");
}

static void addresses(struct both_sides* both) {
    hg_class_t* hg_class = both->server.hg_class;
    hg_addr_t self = HG_ADDR_NULL;
    hg_addr_t copy = HG_ADDR_NULL;
    hg_addr_t again = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(hg_class, &self));
    CHECK_OK(HG_Addr_dup(hg_class, self, &copy));
    char text[256];
    hg_size_t bytes = 0;
    CHECK_OK(HG_Addr_to_string(hg_class, NULL, &bytes, self));
    const hg_size_t needed = bytes;
    bytes = needed - 1;
    CHECK_RET(HG_Addr_to_string(hg_class, text, &bytes, self), HG_OVERFLOW);
    CHECK(bytes == needed);
    CHECK_OK(HG_Addr_to_string(hg_class, text, &bytes, self));
    CHECK(strlen(text) + 1 == needed);
    CHECK_OK(HG_Addr_lookup2(both->client.hg_class, text, &again));
    CHECK(HG_Addr_cmp(hg_class, self, copy) && HG_Addr_cmp(hg_class, self, again));
    CHECK(!HG_Addr_cmp(hg_class, self, HG_ADDR_NULL));
    CHECK_OK(HG_Addr_set_remove(hg_class, copy));
    CHECK_OK(HG_Addr_free(hg_class, self));
    CHECK_OK(HG_Addr_free(hg_class, copy));
    CHECK_OK(HG_Addr_free(both->client.hg_class, again));
    CHECK_OK(HG_Addr_free(hg_class, HG_ADDR_NULL));
    CHECK_REFUSED(HG_Addr_lookup2(hg_class, "no address", &again), HG_INVALID_ARG);
    CHECK_REFUSED(HG_Addr_lookup2(hg_class, "ofi+nothing://x:1", &again), HG_PROTONOSUPPORT);
    CHECK_REFUSED(HG_Addr_lookup2(hg_class, "self://0123", &again), HG_PROTONOSUPPORT);
}

struct looked_up {
    int count;
    hg_addr_t addr;
};
static hg_return_t note_address(const struct hg_cb_info* info) {
    struct looked_up* looked_up = info->arg;
    CHECK(info->type == HG_CB_LOOKUP);
    CHECK_OK(info->ret);
    looked_up->addr = info->info.lookup.addr;
    ++looked_up->count;
    return HG_SUCCESS;
}

static void lookups(struct both_sides* both) {
    char text[256];
    hg_size_t bytes = sizeof text;
    CHECK_OK(HG_Addr_to_string(both->client.hg_class, text, &bytes, both->to));
    struct looked_up looked_up = {0, HG_ADDR_NULL};
    CHECK_OK(HG_Addr_lookup(both->client.context, note_address, &looked_up, text, HG_OP_ID_IGNORE));
    CHECK(looked_up.count == 0);
    pump_until(both, &looked_up.count, 1);
    CHECK(HG_Addr_cmp(both->client.hg_class, looked_up.addr, both->to));
    CHECK_OK(HG_Addr_free(both->client.hg_class, looked_up.addr));
}

static void registrations(hg_class_t* hg_class) {
    uint8_t flag = HG_TRUE;
    hg_id_t id = 0;
    CHECK_OK(HG_Registered_name(hg_class, "data", &id, &flag));
    CHECK(!flag && id == 0x7c95915f); /* the hash is returned anyway */
    CHECK(HG_Register_name(hg_class, "data", hg_proc_hg_string_t, NULL, serve_nothing) == id);
    CHECK_OK(HG_Registered_name(hg_class, "data", NULL, &flag));
    CHECK(flag);
    hg_proc_cb_t in = NULL;
    hg_proc_cb_t out = hg_proc_hg_string_t;
    CHECK_OK(HG_Registered_proc_cb(hg_class, id, &flag, &in, &out));
    CHECK(flag && in == hg_proc_hg_string_t && out == NULL);
    CHECK_OK(HG_Register_data(hg_class, id, &freed, count_freed));
    CHECK(HG_Registered_data(hg_class, id) == &freed);
    CHECK_OK(HG_Deregister(hg_class, id));
    CHECK(freed == 1 && HG_Registered_data(hg_class, id) == NULL);
    CHECK_OK(HG_Registered(hg_class, id, &flag));
    CHECK(!flag);
    CHECK_RET(HG_Register_data(hg_class, id, &freed, count_freed), HG_NOENTRY);
    /* Ids of 64 bits, as Margo has them. Registering an id twice replaces the first registration. */
    const hg_id_t wide = 0x123456789abcdef0u;
    CHECK_OK(HG_Register(hg_class, wide, NULL, NULL, serve_nothing));
    CHECK_OK(HG_Register(hg_class, wide, hg_proc_hg_string_t, NULL, serve_nothing));
    CHECK_OK(HG_Registered_proc_cb(hg_class, wide, &flag, &in, NULL));
    CHECK(flag && in == hg_proc_hg_string_t);
    /* Two names with the same hash. */
    CHECK(HG_Register_name(hg_class, "Aa", NULL, NULL, serve_nothing) != 0);
    HG_Set_log_level("none");
    CHECK(HG_Register_name(hg_class, "B@", NULL, NULL, serve_nothing) == 0);
    HG_Set_log_level("warning");
}

static hg_return_t give_data(hg_handle_t handle, void* arg) { return HG_Set_data(handle, arg, count_freed); }

/* Each context has its own calls. A context with an id can be called by that id. */
static void contexts(struct both_sides* both) {
    hg_id_t id = HG_Register_name(both->server.hg_class, "where", NULL, NULL, serve_where);
    if (both->client.hg_class != both->server.hg_class) {
        CHECK(HG_Register_name(both->client.hg_class, "where", NULL, NULL, NULL) == id);
    }
    hg_context_t* seven = HG_Context_create_id(both->server.hg_class, 7);
    hg_context_t* another = HG_Context_create(both->client.hg_class); /* the first context has that id already */
    CHECK(seven && another && HG_Context_get_id(seven) == 7 && HG_Context_get_id(another) == 0);
    CHECK(HG_Context_get_class(seven) == both->server.hg_class);
    CHECK_OK(HG_Context_set_data(seven, &freed, count_freed));
    CHECK(HG_Context_get_data(seven) == &freed);
    CHECK_OK(HG_Class_set_handle_create_callback(both->client.hg_class, give_data, &freed));
    freed = 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(another, both->to, id, &handle));
    CHECK(HG_Get_data(handle) == &freed);
    for (uint8_t target = 0; target <= 7; target = (uint8_t)(target + 7)) {
        struct told told = {0, HG_OTHER_ERROR};
        CHECK_OK(HG_Set_target_id(handle, target));
        CHECK_OK(HG_Forward(handle, note, &told, NULL));
        const double end = now_ms() + 20e3;
        while (told.count == 0 && now_ms() < end) {
            unsigned count = 0;
            pump_once(both);
            (void)HG_Progress(seven, 0);
            (void)HG_Trigger(seven, 0, 1, &count);
            (void)HG_Progress(another, 0);
            (void)HG_Trigger(another, 0, 1, &count);
        }
        CHECK(told.count == 1 && told.ret == HG_SUCCESS);
        CHECK(served_by == (target == 7 ? seven : both->server.context));
    }
    const int of_requests = freed;
    struct hg_diag_counters before;
    CHECK_OK(HG_Class_get_counters(both->client.hg_class, &before));
    CHECK(before.rpc_req_sent_count >= 2);
    CHECK_OK(HG_Destroy(handle));
    CHECK(freed == of_requests + 1);
    CHECK_OK(HG_Class_set_handle_create_callback(both->client.hg_class, NULL, NULL));
    CHECK_OK(HG_Context_destroy(seven));
    CHECK(freed == of_requests + 2);
    CHECK_OK(HG_Context_destroy(another));
    /* The counts of its handles are kept. */
    struct hg_diag_counters after;
    CHECK_OK(HG_Class_get_counters(both->client.hg_class, &after));
    CHECK(after.rpc_req_sent_count == before.rpc_req_sent_count);
    CHECK(after.rpc_resp_recv_count == before.rpc_resp_recv_count);
}

static void events(struct both_sides* both, hg_id_t id) {
    const int fd = HG_Event_get_wait_fd(both->client.context);
    CHECK(fd >= 0);
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    const double end = now_ms() + 20e3;
    while (told.count == 0 && now_ms() < end) {
        unsigned count = 0;
        if (both->server.context != both->client.context) {
            CHECK_OK(HG_Event_progress(both->server.context, &count));
            CHECK_OK(HG_Event_trigger(both->server.context, count, &count));
        }
        if (!HG_Event_ready(both->client.context)) {
            struct pollfd waits = {fd, POLLIN, 0};
            CHECK(poll(&waits, 1, 1) >= 0);
        }
        unsigned ran = 0;
        CHECK_OK(HG_Event_progress(both->client.context, &count));
        CHECK_OK(HG_Event_trigger(both->client.context, count, &ran));
        CHECK(ran <= count);
    }
    CHECK(told.count == 1 && told.ret == HG_SUCCESS);
    CHECK_OK(HG_Destroy(handle));
}

/* With nothing to do, it waits for the given time. */
static void waits(struct both_sides* both) {
    unsigned count = 99;
    while (HG_Progress(both->client.context, 0) == HG_SUCCESS) {
        (void)HG_Trigger(both->client.context, 0, 1, &count);
    }
    double began = now_ms();
    CHECK_RET(HG_Trigger(both->client.context, 20, 1, &count), HG_TIMEOUT);
    CHECK(count == 0 && now_ms() - began >= 19);
    CHECK_OK(HG_Event_trigger(both->client.context, 1, &count));
    began = now_ms();
    CHECK_RET(HG_Progress(both->client.context, 20), HG_TIMEOUT);
    CHECK(now_ms() - began >= 19);
}

static char logged[4096];
static int to_memory(FILE* stream, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t used = strlen(logged);
    const int ret = vsnprintf(logged + used, sizeof logged - used, format, arguments);
    va_end(arguments);
    CHECK(stream == stdout || stream == stderr);
    return ret;
}

static void counts_and_logs(struct both_sides* both) {
    struct hg_diag_counters counters;
    CHECK_OK(HG_Class_get_counters(both->client.hg_class, &counters));
    CHECK(counters.rpc_req_sent_count == counters.rpc_resp_recv_count && counters.rpc_req_sent_count >= 3);
    CHECK_OK(HG_Class_get_counters(both->server.hg_class, &counters));
    CHECK(counters.rpc_req_recv_count == counters.rpc_resp_sent_count && counters.rpc_req_recv_count >= 3);
    CHECK(counters.rpc_req_recv_active_count == 0);
    HG_Set_log_func(to_memory);
    HG_Set_log_stream("error", stdout);
    HG_Diag_dump_counters();
    CHECK(strstr(logged, "rpc_req_sent=") != NULL);
    logged[0] = '\0';
    CHECK(HG_Init("nothing", HG_FALSE) == NULL);
    CHECK(strstr(logged, "nothing") != NULL);
    logged[0] = '\0';
    HG_Set_log_subsys("~hg");
    CHECK(HG_Init("nothing", HG_FALSE) == NULL);
    HG_Set_log_subsys("hg,na");
    HG_Set_log_level("none");
    CHECK(HG_Init("nothing", HG_FALSE) == NULL);
    CHECK(logged[0] == '\0');
    HG_Set_log_level("warning");
    HG_Set_log_func(NULL);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    versions();
    protocols();
    strings();
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    CHECK_OK(HG_Class_set_data(both.server.hg_class, &freed, count_freed));
    CHECK(HG_Class_get_data(both.server.hg_class) == &freed);
    addresses(&both);
    lookups(&both);
    registrations(both.client.hg_class);
    contexts(&both);
    const hg_id_t id = HG_Register_name(both.server.hg_class, "nothing", NULL, NULL, serve_nothing);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(HG_Register_name(both.client.hg_class, "nothing", NULL, NULL, NULL) == id);
    }
    events(&both, id);
    waits(&both);
    counts_and_logs(&both);
    freed = 0;
    close_both_sides(&both);
    CHECK(freed == 1);
    HG_Cleanup();
    return 0;
}
