/* SPDX-License-Identifier: BSD-3-Clause
 * HG_Core, with which the bytes are the user's. */
#include "both_sides.h"

#include <mercury_core.h>
#include <string.h>

struct pair {
    hg_core_class_t* server;
    hg_core_class_t* client;
    hg_core_context_t* server_context;
    hg_core_context_t* client_context;
    hg_core_addr_t to;
};

static int told_count;
static hg_return_t told_ret;
static hg_return_t note_core(const struct hg_core_cb_info* info) {
    ++told_count;
    told_ret = info->ret;
    CHECK(info->arg == &told_count);
    CHECK(info->type == HG_CB_FORWARD && info->info.forward.handle != HG_CORE_HANDLE_NULL);
    return HG_SUCCESS;
}

static int responded;
static hg_return_t note_respond(const struct hg_core_cb_info* info) {
    CHECK_OK(info->ret);
    CHECK(info->type == HG_CB_RESPOND);
    ++responded;
    return HG_SUCCESS;
}

static hg_return_t never(const struct hg_core_cb_info* info) {
    (void)info;
    CHECK(0);
    return HG_SUCCESS;
}

static hg_core_addr_t found;
static hg_return_t note_lookup(const struct hg_core_cb_info* info) {
    CHECK_OK(info->ret);
    CHECK(info->type == HG_CB_LOOKUP && info->arg == &found);
    found = info->info.lookup.addr;
    return HG_SUCCESS;
}

/* Reverses the letters. */
static hg_return_t serve_reverse(hg_core_handle_t handle) {
    const struct hg_core_info* info = HG_Core_get_info(handle);
    CHECK(info->id == 5 && info->addr != HG_CORE_ADDR_NULL && info->context != NULL);
    CHECK(strcmp(HG_Core_get_rpc_data(handle), "five") == 0);
    void* in = NULL;
    void* out = NULL;
    hg_size_t in_bytes = 0;
    hg_size_t out_bytes = 0;
    CHECK_OK(HG_Core_get_input(handle, &in, &in_bytes));
    CHECK(in_bytes == HG_Core_get_input_payload_size(handle));
    CHECK_OK(HG_Core_get_output(handle, &out, &out_bytes));
    CHECK(out_bytes >= in_bytes);
    for (hg_size_t i = 0; i < in_bytes; ++i) ((char*)out)[i] = ((char*)in)[in_bytes - 1 - i];
    CHECK_OK(HG_Core_release_input(handle));
    CHECK_RET(HG_Core_respond(handle, note_respond, NULL, 0xf0, in_bytes), HG_OPNOTSUPPORTED);
    CHECK_RET(HG_Core_respond(handle, note_respond, NULL, 0, out_bytes + 1), HG_MSGSIZE);
    CHECK_OK(HG_Core_respond(handle, note_respond, NULL, 0, in_bytes));
    CHECK_RET(HG_Core_respond(handle, never, NULL, 0, 0), HG_OPNOTSUPPORTED); /* and the first callback is kept */
    return HG_Core_destroy(handle);
}

static void drive(struct pair* pair) {
    unsigned count = 0;
    (void)HG_Core_progress(pair->client_context, 0);
    (void)HG_Core_trigger(pair->client_context, 0, 16, &count);
    if (pair->server_context == pair->client_context) return;
    CHECK_OK(HG_Core_event_progress(pair->server_context, &count));
    CHECK(count == HG_Core_context_get_completion_count(pair->server_context));
    CHECK_OK(HG_Core_event_trigger(pair->server_context, 16, &count));
}

static void wait_for(struct pair* pair, const int* flag) {
    const double end = now_ms() + 20e3;
    while (*flag == 0 && now_ms() < end) drive(pair);
    CHECK(*flag == 1);
}

static void addresses(struct pair* pair) {
    char text[256];
    hg_size_t bytes = sizeof text;
    CHECK_OK(HG_Core_addr_to_string(text, &bytes, pair->to));
    CHECK_OK(HG_Core_addr_lookup1(pair->client_context, note_lookup, &found, text, HG_CORE_OP_ID_IGNORE));
    const double end = now_ms() + 20e3;
    while (found == HG_CORE_ADDR_NULL && now_ms() < end) drive(pair);
    CHECK(HG_Core_addr_cmp(found, pair->to));
    CHECK(HG_Core_addr_is_self(found) == (pair->client == pair->server));
    CHECK(NA_Addr_cmp(HG_Core_class_get_na(pair->client), HG_Core_addr_get_na(found), HG_Core_addr_get_na(pair->to)));
    char wire[512];
    const hg_size_t needed = HG_Core_addr_get_serialize_size(found, 0);
    CHECK(needed != 0 && needed <= sizeof wire);
    CHECK_RET(HG_Core_addr_serialize(wire, needed - 1, 0, found), HG_OVERFLOW);
    CHECK_OK(HG_Core_addr_serialize(wire, needed, 0, found));
    hg_core_addr_t copy = HG_CORE_ADDR_NULL;
    CHECK_REFUSED(HG_Core_addr_deserialize(pair->client, &copy, wire, needed - 1, 0), HG_PROTOCOL_ERROR);
    const char empty[11] = {0}; /* no endpoint, no incarnation */
    CHECK_REFUSED(HG_Core_addr_deserialize(pair->client, &copy, empty, sizeof empty, 0), HG_PROTOCOL_ERROR);
    CHECK(copy == HG_CORE_ADDR_NULL);
    CHECK_OK(HG_Core_addr_deserialize(pair->client, &copy, wire, needed, 0));
    CHECK(HG_Core_addr_cmp(found, copy));
    CHECK_OK(HG_Core_addr_free(copy));
    CHECK_OK(HG_Core_addr_dup(found, &copy));
    CHECK_OK(HG_Core_addr_set_remove(copy));
    CHECK_OK(HG_Core_addr_free(copy));
    CHECK_OK(HG_Core_addr_free(found));
}

static void calls(struct pair* pair) {
    hg_core_handle_t handle = HG_CORE_HANDLE_NULL;
    CHECK_OK(HG_Core_create(pair->client_context, pair->to, 5, &handle));
    void* bytes = NULL;
    hg_size_t size = 0;
    CHECK_OK(HG_Core_get_input(handle, &bytes, &size));
    CHECK(size == HG_Core_class_get_input_eager_size(pair->client));
    memcpy(bytes, "straight", 8);
    CHECK_RET(HG_Core_forward(handle, note_core, &told_count, 0xf0, 8), HG_OPNOTSUPPORTED);
    CHECK_RET(HG_Core_forward(handle, note_core, &told_count, 0, size + 1), HG_MSGSIZE);
    CHECK_OK(HG_Core_forward(handle, note_core, &told_count, 0, 8));
    wait_for(pair, &told_count);
    CHECK_OK(told_ret);
    CHECK_OK(HG_Core_get_output(handle, &bytes, &size));
    CHECK(size == 8 && memcmp(bytes, "thgiarts", 8) == 0);
    CHECK(HG_Core_get_output_payload_size(handle) == 8);
    wait_for(pair, &responded);
    CHECK(HG_Core_ref_get(handle) == 1);
    CHECK_OK(HG_Core_ref_incr(handle));
    CHECK_OK(HG_Core_destroy(handle));
    CHECK_OK(HG_Core_destroy(handle));
}

static void posts(struct pair* pair) {
    CHECK_OK(HG_Core_context_unpost(pair->server_context));
    hg_core_handle_t handle = HG_CORE_HANDLE_NULL;
    CHECK_OK(HG_Core_create(pair->client_context, pair->to, 5, &handle));
    told_count = 0;
    CHECK_OK(HG_Core_forward(handle, note_core, &told_count, 0, 0));
    wait_for(pair, &told_count);
    CHECK(told_ret == HG_HOSTUNREACH);
    CHECK_OK(HG_Core_context_post(pair->server_context));
    CHECK_OK(HG_Core_reset(handle, pair->to, 5));
    told_count = 0;
    CHECK_OK(HG_Core_forward(handle, note_core, &told_count, 0, 0));
    CHECK_OK(HG_Core_cancel(handle));
    wait_for(pair, &told_count);
    CHECK(told_ret == HG_CANCELED);
    CHECK_OK(HG_Core_destroy(handle));
    for (int i = 0; i < 50; ++i) drive(pair);
}

/* The data that do not fit in the message; their length is in the message. */
static const char much[] = "much more than fits";
static hg_core_handle_t waiting;
static void (*tell_done)(hg_core_handle_t, hg_return_t);
static hg_op_t waits_for;
static hg_return_t acquire_ret;
static int released;
static hg_return_t acquire(hg_core_handle_t handle, hg_op_t op, void (*done)(hg_core_handle_t, hg_return_t)) {
    if (acquire_ret != HG_SUCCESS) return acquire_ret;
    void* bytes = NULL;
    hg_size_t size = 0;
    if (op == HG_INPUT) CHECK_OK(HG_Core_get_input(handle, &bytes, &size));
    if (op == HG_OUTPUT) CHECK_OK(HG_Core_get_output(handle, &bytes, &size));
    CHECK(size == 1 && *(char*)bytes == (char)sizeof much);
    waiting = handle;
    waits_for = op;
    tell_done = done;
    return HG_SUCCESS;
}
static void release(hg_core_handle_t handle) {
    CHECK(handle != HG_CORE_HANDLE_NULL);
    ++released;
}

static int served_more;
static hg_return_t serve_more(hg_core_handle_t handle) {
    void* out = NULL;
    hg_size_t size = 0;
    ++served_more;
    CHECK_OK(HG_Core_get_output(handle, &out, &size));
    *(char*)out = (char)sizeof much;
    CHECK_OK(HG_Core_respond(handle, NULL, NULL, HG_CORE_MORE_DATA, 1));
    return HG_Core_destroy(handle);
}

static void forward_more(struct pair* pair, hg_core_handle_t handle) {
    void* bytes = NULL;
    hg_size_t size = 0;
    CHECK_OK(HG_Core_get_input(handle, &bytes, &size));
    *(char*)bytes = (char)sizeof much;
    told_count = 0;
    CHECK_OK(HG_Core_forward(handle, note_core, &told_count, HG_CORE_MORE_DATA, 1));
    for (int i = 0; i < 20; ++i) drive(pair);
}

static void wait_for_acquire(struct pair* pair, hg_op_t op) {
    const double end = now_ms() + 20e3;
    while (waiting == HG_CORE_HANDLE_NULL && now_ms() < end) drive(pair);
    CHECK(waiting != HG_CORE_HANDLE_NULL && waits_for == op);
    for (int i = 0; i < 20; ++i) drive(pair);
}

static void bring(hg_return_t ret) {
    hg_core_handle_t handle = waiting;
    waiting = HG_CORE_HANDLE_NULL;
    tell_done(handle, ret);
}

static void more_data(struct pair* pair) {
    CHECK_OK(HG_Core_register(pair->server, 6, serve_more));
    if (pair->client != pair->server) CHECK_OK(HG_Core_register(pair->client, 6, NULL));
    hg_core_handle_t handle = HG_CORE_HANDLE_NULL;
    CHECK_OK(HG_Core_create(pair->client_context, pair->to, 6, &handle));
    HG_Set_log_level("none");
    /* No callback can bring the data. */
    forward_more(pair, handle);
    wait_for(pair, &told_count);
    CHECK(told_ret == HG_OPNOTSUPPORTED && served_more == 0);
    CHECK_RET(HG_Core_set_more_data_callback(NULL, acquire, release), HG_INVALID_ARG);
    CHECK_OK(HG_Core_set_more_data_callback(pair->server, acquire, release));
    CHECK_OK(HG_Core_set_more_data_callback(pair->client, acquire, release));
    /* Arguments and results, each when the callback reports that it has brought them. */
    forward_more(pair, handle);
    wait_for_acquire(pair, HG_INPUT);
    CHECK(served_more == 0 && told_count == 0);
    bring(HG_SUCCESS);
    wait_for_acquire(pair, HG_OUTPUT);
    CHECK(served_more == 1 && told_count == 0);
    CHECK_RET(HG_Core_forward(handle, note_core, &told_count, 0, 0), HG_BUSY);
    bring(HG_SUCCESS);
    wait_for(pair, &told_count);
    CHECK_OK(told_ret);
    for (int i = 0; i < 50; ++i) drive(pair);
    CHECK(released == 1); /* by the target */
    CHECK_OK(HG_Core_reset(handle, pair->to, 6));
    CHECK(released == 2);
    /* The data cannot be brought, which becomes known late or at once. */
    forward_more(pair, handle);
    wait_for_acquire(pair, HG_INPUT);
    bring(HG_NOMEM);
    wait_for(pair, &told_count);
    CHECK(told_ret == HG_NOMEM || told_ret == HG_AGAIN);
    acquire_ret = HG_FAULT;
    forward_more(pair, handle);
    wait_for(pair, &told_count);
    CHECK(told_ret != HG_SUCCESS && served_more == 1);
    CHECK_OK(HG_Core_destroy(handle));
    for (int i = 0; i < 50; ++i) drive(pair);
    CHECK(released >= 4);
    HG_Set_log_level("warning");
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    /* The same objects under the names of HG_Core. */
    struct pair pair = {(hg_core_class_t*)both.server.hg_class, (hg_core_class_t*)both.client.hg_class,
                        (hg_core_context_t*)both.server.context, (hg_core_context_t*)both.client.context,
                        (hg_core_addr_t)both.to};
    CHECK_OK(HG_Core_register(pair.server, 5, serve_reverse));
    CHECK_OK(HG_Core_register_data(pair.server, 5, "five", NULL));
    if (pair.client != pair.server) CHECK_OK(HG_Core_register(pair.client, 5, NULL));
    addresses(&pair);
    calls(&pair);
    posts(&pair);
    more_data(&pair);
    close_both_sides(&both);
    hg_core_class_t* own = HG_Core_init("na+sm", HG_FALSE);
    CHECK(own != NULL && !HG_Core_class_is_listening(own) && strcmp(HG_Core_class_get_protocol(own), "sm") == 0);
    hg_core_context_t* context = HG_Core_context_create_id(own, 3);
    CHECK(context != NULL && HG_Core_context_get_id(context) == 3 && HG_Core_context_get_class(context) == own);
    CHECK_OK(HG_Core_context_destroy(context));
    CHECK_OK(HG_Core_finalize(own));
    return 0;
}
