/* SPDX-License-Identifier: BSD-3-Clause */
#include "both_sides.h"

#include <string.h>
#include <time.h>

static bool is_self(const char* transport) { return strcmp(transport, "self") == 0; }

const char* init_string(const char* transport, bool listen) {
    if (is_self(transport)) return "self";
    if (strcmp(transport, "shm") == 0) return "na+sm";
    if (strcmp(transport, "tcp") == 0) return listen ? "ofi+tcp://127.0.0.1:0" : "ofi+tcp";
    if (strcmp(transport, "ofi") == 0) return listen ? "cinnabar+ofi+tcp://127.0.0.1:0" : "cinnabar+ofi+tcp";
    return transport;
}

static void open_side(struct side* side, const char* transport, bool listen, const struct hg_init_info* options) {
    side->hg_class = HG_Init_opt2(init_string(transport, listen), listen, HG_VERSION(2, 4), options);
    CHECK(side->hg_class != NULL);
    side->context = HG_Context_create(side->hg_class);
    CHECK(side->context != NULL);
}

void open_both_sides(struct both_sides* both, const char* transport, const struct hg_init_info* options) {
    open_side(&both->server, transport, true, options);
    if (is_self(transport)) {
        both->client = both->server;
        CHECK_OK(HG_Addr_self(both->client.hg_class, &both->to));
        return;
    }
    open_side(&both->client, transport, false, options);
    hg_addr_t self = HG_ADDR_NULL;
    char text[256];
    hg_size_t bytes = sizeof text;
    CHECK_OK(HG_Addr_self(both->server.hg_class, &self));
    CHECK_OK(HG_Addr_to_string(both->server.hg_class, text, &bytes, self));
    CHECK_OK(HG_Addr_free(both->server.hg_class, self));
    CHECK_OK(HG_Addr_lookup2(both->client.hg_class, text, &both->to));
}

static void close_side(struct side* side) {
    CHECK_OK(HG_Context_destroy(side->context));
    CHECK_OK(HG_Finalize(side->hg_class));
}

void close_both_sides(struct both_sides* both) {
    CHECK_OK(HG_Addr_free(both->client.hg_class, both->to));
    if (both->client.hg_class != both->server.hg_class) close_side(&both->client);
    close_side(&both->server);
}

static void drive(struct side* side) {
    unsigned count = 0;
    const hg_return_t progressed = HG_Progress(side->context, 0);
    CHECK(progressed == HG_SUCCESS || progressed == HG_TIMEOUT);
    while (HG_Trigger(side->context, 0, 1, &count) == HG_SUCCESS && count != 0) {
    }
}

void pump_once(struct both_sides* both) {
    drive(&both->client);
    if (both->server.context != both->client.context) drive(&both->server);
}

double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void pump_until(struct both_sides* both, const int* flag, int wanted) {
    const double end = now_ms() + 20e3;
    while (*flag < wanted && now_ms() < end) pump_once(both);
    CHECK(*flag >= wanted);
}

hg_return_t note(const struct hg_cb_info* info) {
    struct told* told = info->arg;
    ++told->count;
    told->ret = info->ret;
    return HG_SUCCESS;
}

hg_return_t call(struct both_sides* both, hg_handle_t handle, void* in) {
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Forward(handle, note, &told, in));
    pump_until(both, &told.count, 1);
    CHECK(told.count == 1);
    return told.ret;
}
