/* SPDX-License-Identifier: BSD-3-Clause
 * What programs forget, do twice, or do at odd times is refused or harmless. */
#include "both_sides.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static hg_return_t serve_forget(hg_handle_t handle) { return HG_Destroy(handle); }

/* Handlers that destroy their handles without an answer use nothing up. */
static void forgotten(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    for (int i = 0; i < 200; ++i) CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_OK(HG_Destroy(handle));
    struct hg_diag_counters counters;
    CHECK_OK(HG_Class_get_counters(both->server.hg_class, &counters));
    CHECK(counters.rpc_req_recv_active_count == 0);
}

/* Only existing contexts count, no matter how many there have been. Ids are shared by all transports, and a context of
 * libfabric takes 50 ms. */
static void contexts_come_and_go(struct both_sides* both, const char* transport) {
    const int count = strcmp(transport, "ofi") == 0 ? 20 : 1100;
    for (int i = 0; i < count; ++i) {
        hg_context_t* second = HG_Context_create(both->client.hg_class);
        CHECK(second != NULL);
        CHECK_OK(HG_Context_destroy(second));
    }
}

static hg_return_t nothing(const struct hg_cb_info* info) {
    (void)info;
    CHECK(0);
    return HG_SUCCESS;
}

static void bulk_arguments(struct both_sides* both) {
    char memory[64];
    void* base = memory;
    hg_size_t bytes = sizeof memory;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_context_t* const context = both->client.context;
    CHECK_OK(HG_Bulk_create(both->client.hg_class, 1, &base, &bytes, HG_BULK_READWRITE, &bulk));
    CHECK_REFUSED(
        HG_Bulk_transfer(context, nothing, NULL, (hg_bulk_op_t)77, both->to, bulk, 0, bulk, 0, 1, HG_OP_ID_IGNORE),
        HG_INVALID_ARG);
    CHECK_RET(HG_Bulk_transfer(NULL, nothing, NULL, HG_BULK_PULL, both->to, bulk, 0, bulk, 0, 1, HG_OP_ID_IGNORE),
              HG_INVALID_ARG);
    /* Without a callback function, no callback is made. */
    CHECK_OK(HG_Bulk_transfer(context, NULL, NULL, HG_BULK_PULL, both->to, bulk, 0, bulk, 0, 1, HG_OP_ID_IGNORE));
    CHECK_OK(HG_Bulk_bind(bulk, context));
    CHECK_RET(HG_Bulk_bind_transfer(NULL, nothing, NULL, HG_BULK_PULL, bulk, 0, bulk, 0, 1, HG_OP_ID_IGNORE),
              HG_INVALID_ARG);
    for (int i = 0; i < 10; ++i) pump_once(both);
    CHECK_OK(HG_Bulk_free(bulk));
}

/* A handle forgets its peer: the next forward fails, instead of going to the old peer. */
static void reset_to_nobody(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_OK(HG_Reset(handle, HG_ADDR_NULL, 0));
    CHECK(HG_Get_info(handle)->addr == HG_ADDR_NULL);
    CHECK_RET(HG_Forward(handle, note, &told, NULL), HG_INVALID_ARG);
    CHECK(told.count == 0);
    CHECK_OK(HG_Reset(handle, both->to, 0));
    CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_OK(HG_Destroy(handle));
}

/* Calls without an RPC, a proc or a buffer: docs/mercury.md. */
static void faults(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    int value = 0;
    void* buffer = NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, 0, &handle));
    CHECK_RET(HG_Forward(handle, note, &told, NULL), HG_FAULT);
    CHECK_OK(HG_Reset(handle, both->to, id)); /* registered without procs */
    CHECK_REFUSED(HG_Forward(handle, note, &told, &value), HG_FAULT);
    CHECK_RET(HG_Get_output_buf(handle, &buffer, NULL), HG_FAULT);
    CHECK_RET(HG_Release_input_buf(handle), HG_FAULT);
    CHECK(told.count == 0);
    CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_RET(HG_Get_input(handle, &value), HG_FAULT);
    CHECK_RET(HG_Free_input(handle, &value), HG_FAULT);
    CHECK_RET(HG_Get_output(handle, &value), HG_FAULT);
    CHECK_RET(HG_Free_output(handle, &value), HG_FAULT);
    CHECK_OK(HG_Destroy(handle));
}

/* For a peer that does not exist the error is not HG_NODEV. */
static void nobody_there(void) {
    struct side side;
    struct told told = {0, HG_OTHER_ERROR};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t to = HG_ADDR_NULL;
    side.hg_class = HG_Init("na+sm", HG_FALSE);
    CHECK(side.hg_class != NULL);
    side.context = HG_Context_create(side.hg_class);
    const hg_id_t id = HG_Register_name(side.hg_class, "nobody", NULL, NULL, NULL);
    CHECK_OK(HG_Addr_lookup2(side.hg_class, "na+sm://nobody-listens-here", &to));
    CHECK_OK(HG_Create(side.context, to, id, &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    for (const double end = now_ms() + 20e3; told.count == 0 && now_ms() < end;) {
        (void)HG_Progress(side.context, 10);
        (void)HG_Trigger(side.context, 0, 1, NULL);
    }
    CHECK_RET(told.ret, HG_HOSTUNREACH);
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(HG_Addr_free(side.hg_class, to));
    CHECK_OK(HG_Context_destroy(side.context));
    CHECK_OK(HG_Finalize(side.hg_class));
}

/* Refused at once, without a callback. */
static void look_ups(struct both_sides* both) {
    CHECK_REFUSED(HG_Addr_lookup1(both->client.context, nothing, NULL, "no address", HG_OP_ID_IGNORE), HG_INVALID_ARG);
    CHECK_REFUSED(HG_Addr_lookup1(both->client.context, nothing, NULL, "bogus://x:1", HG_OP_ID_IGNORE),
                  HG_PROTONOSUPPORT);
    for (int i = 0; i < 10; ++i) pump_once(both);
}

static void of_another_class(struct both_sides* both, hg_id_t id) {
    if (both->client.hg_class == both->server.hg_class) return;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_REFUSED(HG_Create(both->server.context, both->to, id, &handle), HG_INVALID_ARG);
    CHECK_OK(HG_Create(both->server.context, HG_ADDR_NULL, id, &handle));
    CHECK_REFUSED(HG_Reset(handle, both->to, id), HG_INVALID_ARG);
    CHECK_OK(HG_Destroy(handle));
}

static void strings(void) {
    hg_class_t* timed = HG_Init("na+sm?deadline_ms=50", 0);
    CHECK(timed != NULL);
    CHECK_OK(HG_Finalize(timed));
    CHECK(setenv("CINNABAR_HG_DEADLINE_MS", "", 1) == 0);
    hg_class_t* plain = HG_Init("na+sm", 0);
    CHECK(plain != NULL);
    CHECK(unsetenv("CINNABAR_HG_DEADLINE_MS") == 0);
    hg_addr_t addr = HG_ADDR_NULL;
    CHECK_REFUSED(HG_Addr_lookup2(plain, "ofi+bogus://x:1", &addr), HG_PROTONOSUPPORT);
    CHECK_REFUSED(HG_Addr_lookup2(plain, "na+sm://", &addr), HG_INVALID_ARG);
    CHECK_OK(HG_Finalize(plain));
    HG_Set_log_level("none");
    CHECK(HG_Init("tcp://?bogus=1", 0) == NULL);
    CHECK(HG_Init("tcp://?deadline_ms=soon", 0) == NULL);
    CHECK(HG_Init("tcp://?patience_ms=0", 0) == NULL);
    HG_Set_log_level("warning");
}

/* The origin receives the error of a create callback of the target. */
static hg_return_t give_nothing(hg_handle_t handle, void* arg) {
    (void)handle;
    (void)arg;
    return HG_NOMEM;
}
static void handles_that_cannot_be(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_handle_t none = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(HG_Class_set_handle_create_callback(both->server.hg_class, give_nothing, NULL));
    CHECK_REFUSED(call(both, handle, NULL), HG_NOMEM);
    CHECK_RET(HG_Create(both->server.context, HG_ADDR_NULL, id, &none), HG_NOMEM);
    CHECK_OK(HG_Class_set_handle_create_callback(both->server.hg_class, NULL, NULL));
    CHECK_OK(HG_Destroy(handle));
}

MERCURY_GEN_PROC(large_out_t, ((hg_const_string_t)(text)))
static char large_text[100 * 1000];
static int large_left;
static hg_return_t note_left(const struct hg_cb_info* info) {
    CHECK_OK(info->ret);
    ++*(int*)info->arg;
    return HG_SUCCESS;
}
static atomic_int large_served;
static hg_return_t serve_large(hg_handle_t handle) {
    large_out_t out = {large_text};
    CHECK_OK(HG_Respond(handle, note_left, &large_left, &out));
    CHECK_OK(HG_Destroy(handle));
    large_served = 1;
    return HG_SUCCESS;
}
static void* drive_client(void* arg) {
    struct side* client = arg;
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned count = 0;
    struct told told = {0, HG_OTHER_ERROR};
    large_out_t out;
    hg_addr_t to = HG_Context_get_data(client->context);
    CHECK_OK(HG_Create(client->context, to,
                       HG_Register_name(client->hg_class, "large", NULL, hg_proc_large_out_t, NULL), &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    while (told.count == 0) {
        (void)HG_Progress(client->context, 10);
        (void)HG_Trigger(client->context, 0, 16, &count);
    }
    CHECK_OK(told.ret);
    CHECK_OK(HG_Get_output(handle, &out));
    CHECK(strcmp(out.text, large_text) == 0);
    CHECK_OK(HG_Free_output(handle, &out));
    CHECK_OK(HG_Destroy(handle));
    return NULL;
}

/* A server that answers and then disappears: its answer still arrives, and its own callback runs. */
static void answers_and_goes(const char* transport) {
    struct both_sides both;
    open_both_sides(&both, transport, NULL);
    memset(large_text, 'x', sizeof large_text - 1);
    CHECK(HG_Register_name(both.server.hg_class, "large", NULL, hg_proc_large_out_t, serve_large) != 0);
    CHECK_OK(HG_Context_set_data(both.client.context, both.to, NULL));
    pthread_t client;
    unsigned count = 0;
    CHECK(pthread_create(&client, NULL, drive_client, &both.client) == 0);
    while (!large_served) {
        (void)HG_Progress(both.server.context, 10);
        (void)HG_Trigger(both.server.context, 0, 1, &count);
    }
    CHECK_OK(HG_Context_destroy(both.server.context));
    CHECK(large_left == 1);
    CHECK(pthread_join(client, NULL) == 0);
    both.server.context = HG_Context_create(both.server.hg_class);
    CHECK(both.server.context != NULL);
    close_both_sides(&both);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t forget = HG_Register_name(both.server.hg_class, "forget", NULL, NULL, serve_forget);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(HG_Register_name(both.client.hg_class, "forget", NULL, NULL, NULL) == forget);
    }
    forgotten(&both, forget);
    contexts_come_and_go(&both, argv[1]);
    bulk_arguments(&both);
    reset_to_nobody(&both, forget);
    faults(&both, forget);
    nobody_there();
    look_ups(&both);
    of_another_class(&both, forget);
    handles_that_cannot_be(&both, forget);
    strings();
    close_both_sides(&both);
    if (strcmp(argv[1], "self") != 0) answers_and_goes(argv[1]); /* otherwise both sides would disappear */
    return 0;
}
