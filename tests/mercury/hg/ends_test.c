/* SPDX-License-Identifier: BSD-3-Clause
 * Other ends of calls: cancelled, too late, refused, unknown, target gone; and what is refused when objects are
 * destroyed. */
#include "both_sides.h"

#include <string.h>

static hg_handle_t held[64];
static int held_count;

static hg_return_t serve_hold(hg_handle_t handle) {
    held[held_count++] = handle;
    return HG_SUCCESS;
}

static void let_go(struct both_sides* both) {
    while (held_count > 0) {
        hg_handle_t handle = held[--held_count];
        const hg_return_t ret = HG_Respond(handle, NULL, NULL, NULL);
        CHECK(ret == HG_SUCCESS);
        CHECK_OK(HG_Destroy(handle));
    }
    for (int i = 0; i < 10; ++i) pump_once(both);
}

static hg_id_t on_both(struct both_sides* both, const char* name, hg_rpc_cb_t serve) {
    const hg_id_t id = HG_Register_name(both->server.hg_class, name, NULL, NULL, serve);
    CHECK(id != 0);
    if (both->client.hg_class != both->server.hg_class) {
        CHECK(HG_Register_name(both->client.hg_class, name, NULL, NULL, NULL) == id);
    }
    return id;
}

static void cancelled_once(struct both_sides* both, hg_id_t id) {
    struct told told[32];
    hg_handle_t handles[32];
    for (int i = 0; i < 32; ++i) {
        told[i] = (struct told){0, HG_OTHER_ERROR};
        CHECK_OK(HG_Create(both->client.context, both->to, id, &handles[i]));
        CHECK_OK(HG_Cancel(handles[i])); /* nothing to cancel yet */
        CHECK_OK(HG_Forward(handles[i], note, &told[i], NULL));
        for (int rounds = 0; rounds < i % 4; ++rounds) pump_once(both); /* some early, some late */
        CHECK_OK(HG_Cancel(handles[i]));
        CHECK_OK(HG_Cancel(handles[i]));
    }
    for (int i = 0; i < 32; ++i) pump_until(both, &told[i].count, 1);
    for (int i = 0; i < 10; ++i) pump_once(both);
    for (int i = 0; i < 32; ++i) {
        CHECK(told[i].count == 1 && told[i].ret == HG_CANCELED);
        CHECK_OK(HG_Cancel(handles[i]));
        CHECK_OK(HG_Destroy(handles[i]));
    }
    let_go(both);
}

static void unknown_there(struct both_sides* both, hg_id_t nobody) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, nobody, &handle));
    CHECK_RET(call(both, handle, NULL), HG_INVALID_ARG); /* registered there without a handler */
    if (both->client.hg_class != both->server.hg_class) {
        CHECK_OK(HG_Deregister(both->server.hg_class, nobody));
        CHECK_RET(HG_Deregister(both->server.hg_class, nobody), HG_NOENTRY);
        CHECK_RET(call(both, handle, NULL), HG_NOENTRY);
    }
    CHECK_OK(HG_Destroy(handle));
}

static void unposted(struct both_sides* both, hg_id_t id) {
    CHECK_OK(HG_Context_unpost(both->server.context));
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_RET(call(both, handle, NULL), HG_HOSTUNREACH);
    CHECK_OK(HG_Destroy(handle));
}

/* Objects that are left keep classes and contexts alive. */
static void busy(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_REFUSED(HG_Context_destroy(both->client.context), HG_BUSY);
    CHECK_REFUSED(HG_Finalize(both->client.hg_class), HG_BUSY);
    CHECK_OK(HG_Destroy(handle));
}

/* The context is destroyed while a call is in flight whose handle was destroyed: the callback runs inside. */
static void destroyed_in_flight(struct both_sides* both, hg_id_t id) {
    hg_context_t* second = HG_Context_create(both->client.hg_class);
    CHECK(second != NULL);
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(second, both->to, id, &handle));
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(HG_Context_destroy(second));
    CHECK(told.count == 1 && told.ret == HG_CANCELED);
    pump_once(both);
    let_go(both);
}

/* Drives only the client, until `told` has a result or for that time. */
static void drive_client_for(struct both_sides* both, const struct told* told, double milliseconds) {
    const double end = now_ms() + milliseconds;
    while (told->count == 0 && now_ms() < end) {
        unsigned count = 0;
        (void)HG_Progress(both->client.context, 50);
        (void)HG_Trigger(both->client.context, 0, 16, &count);
    }
}

static void server_gone(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    pump_until(both, &held_count, 1);
    CHECK_OK(HG_Destroy(held[0])); /* the reference for the answer remains */
    held_count = 0;
    CHECK_OK(HG_Context_destroy(both->server.context));
    CHECK_OK(HG_Finalize(both->server.hg_class));
    drive_client_for(both, &told, 20e3);
    CHECK(told.count == 1 && (told.ret == HG_CANCELED || told.ret == HG_HOSTUNREACH));
    /* Nothing listens there now: the error comes at once, not after minutes. */
    const double began = now_ms();
    told.count = 0;
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    drive_client_for(both, &told, 20e3);
    CHECK(told.count == 1 && told.ret == HG_HOSTUNREACH);
    CHECK(now_ms() - began < 5e3);
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(HG_Addr_free(both->client.hg_class, both->to));
    CHECK_OK(HG_Context_destroy(both->client.context));
    CHECK_OK(HG_Finalize(both->client.hg_class));
}

/* There is no deadline unless it is requested, here by the environment. */
static void too_late(const char* transport) {
    CHECK(setenv("CINNABAR_HG_DEADLINE_MS", "50", 1) == 0);
    struct both_sides both;
    open_both_sides(&both, transport, NULL);
    CHECK(unsetenv("CINNABAR_HG_DEADLINE_MS") == 0);
    const hg_id_t id = on_both(&both, "hold", serve_hold);
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    const double began = now_ms();
    CHECK_RET(call(&both, handle, NULL), HG_TIMEOUT);
    CHECK(now_ms() - began >= 45);
    CHECK_OK(HG_Destroy(handle));
    let_go(&both);
    close_both_sides(&both);
}

/* A busy server is waited for, also by a client that connects for the first time. */
static void busy_for_long(const char* transport) {
    struct both_sides both;
    open_both_sides(&both, transport, NULL);
    const hg_id_t id = on_both(&both, "hold", serve_hold);
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    drive_client_for(&both, &told, 5500);
    CHECK(told.count == 0);
    pump_until(&both, &held_count, 1);
    let_go(&both);
    pump_until(&both, &told.count, 1);
    CHECK_OK(told.ret);
    CHECK_OK(HG_Destroy(handle));
    close_both_sides(&both);
}

/* But not for ever, if the server never sends its greeting. */
static void silent(const char* transport) {
    CHECK(setenv("CINNABAR_HG_PATIENCE_MS", "300", 1) == 0);
    struct both_sides both;
    open_both_sides(&both, transport, NULL);
    CHECK(unsetenv("CINNABAR_HG_PATIENCE_MS") == 0);
    const hg_id_t id = on_both(&both, "hold", serve_hold);
    hg_handle_t handle = HG_HANDLE_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    const double began = now_ms();
    CHECK_OK(HG_Forward(handle, note, &told, NULL));
    drive_client_for(&both, &told, 20e3);
    CHECK(told.count == 1 && (told.ret == HG_TIMEOUT || told.ret == HG_HOSTUNREACH));
    CHECK(now_ms() - began >= 290 && now_ms() - began < 5e3);
    CHECK_OK(HG_Destroy(handle));
    close_both_sides(&both);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t hold = on_both(&both, "hold", serve_hold);
    const hg_id_t nobody = on_both(&both, "nobody", NULL);
    cancelled_once(&both, hold);
    unknown_there(&both, nobody);
    destroyed_in_flight(&both, hold);
    busy(&both, hold);
    too_late(argv[1]);
    if (both.client.hg_class != both.server.hg_class) {
        silent(argv[1]);
        busy_for_long(argv[1]);
        server_gone(&both, hold);
        open_both_sides(&both, argv[1], NULL);
        (void)on_both(&both, "hold", serve_hold);
    }
    unposted(&both, hold);
    close_both_sides(&both);
    return 0;
}
