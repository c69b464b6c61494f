/* SPDX-License-Identifier: BSD-3-Clause
 * Registration, handles, forward and respond. */
#include "both_sides.h"

#include <string.h>

MERCURY_GEN_PROC(sum_in_t, ((int32_t)(a))((int32_t)(b)))
MERCURY_GEN_PROC(sum_out_t, ((int32_t)(sum)))
MERCURY_GEN_PROC(text_t, ((hg_string_t)(text))((uint64_t)(count)))

static int served;
static struct told responded;

static hg_return_t serve_sum(hg_handle_t handle) {
    sum_in_t in;
    CHECK_OK(HG_Get_input(handle, &in));
    sum_out_t out = {in.a + in.b};
    CHECK(HG_Get_input_payload_size(handle) == sizeof in);
    CHECK_OK(HG_Free_input(handle, &in));
    ++served;
    CHECK_OK(HG_Respond(handle, note, &responded, &out));
    CHECK(HG_Get_output_payload_size(handle) == sizeof out);
    CHECK_RET(HG_Respond(handle, note, &responded, &out), HG_OPNOTSUPPORTED);
    return HG_Destroy(handle);
}

static hg_return_t serve_echo(hg_handle_t handle) {
    text_t in;
    CHECK_OK(HG_Get_input(handle, &in));
    CHECK(strlen(in.text) == in.count);
    CHECK_OK(HG_Respond(handle, NULL, NULL, &in));
    CHECK_OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static hg_return_t serve_one_way(hg_handle_t handle) {
    sum_in_t in;
    CHECK_OK(HG_Get_input(handle, &in));
    CHECK_OK(HG_Free_input(handle, &in));
    CHECK_RET(HG_Respond(handle, NULL, NULL, NULL), HG_OPNOTSUPPORTED);
    ++served;
    return HG_Destroy(handle);
}

static hg_return_t wrong;
static hg_return_t serve_wrongly(hg_handle_t handle) {
    CHECK_OK(HG_Destroy(handle));
    return wrong;
}

static hg_return_t serve_never(hg_handle_t handle) {
    CHECK_OK(HG_Destroy(handle));
    return HG_Destroy(handle); /* as Mercury's programs may: the reference for the answer */
}

/* Each reference that the handler takes or drops shows, although most are dropped without looking whether it is the
 * last one. */
static hg_return_t serve_counted(hg_handle_t handle) {
    const int32_t held = HG_Ref_get(handle);
    sum_in_t in;
    CHECK_OK(HG_Get_input(handle, &in));
    CHECK(HG_Ref_get(handle) == held + 1);
    CHECK_OK(HG_Ref_incr(handle));
    CHECK(HG_Ref_get(handle) == held + 2);
    CHECK_OK(HG_Free_input(handle, &in));
    CHECK_OK(HG_Destroy(handle));
    CHECK(HG_Ref_get(handle) == held);
    sum_out_t out = {in.a + in.b};
    CHECK_OK(HG_Respond(handle, NULL, NULL, &out));
    CHECK(HG_Ref_get(handle) == held - 1); /* that of the response */
    CHECK_OK(HG_Destroy(handle));
    CHECK(HG_Ref_get(handle) == held - 2); /* that of the handler that runs */
    return HG_SUCCESS;
}

/* Needs much memory, and then fails or not. */
struct grown {
    hg_return_t ret;
    size_t bytes;
};
static hg_return_t hg_proc_grown(hg_proc_t proc, void* data) {
    const struct grown* grown = data;
    if (hg_proc_get_op(proc) != HG_ENCODE) return HG_SUCCESS;
    CHECK_OK(hg_proc_reserve(proc, grown->bytes));
    CHECK(hg_proc_get_extra_buf(proc) != NULL);
    void* const bytes = hg_proc_save_ptr(proc, grown->bytes);
    CHECK(bytes != NULL);
    memset(bytes, 'y', grown->bytes);
    return grown->ret;
}
static size_t grown_bytes;
static hg_return_t serve_grown(hg_handle_t handle) {
    CHECK(HG_Get_input_payload_size(handle) == grown_bytes);
    struct grown out = {HG_NOENTRY, grown_bytes};
    CHECK_RET(HG_Respond(handle, NULL, NULL, &out), HG_NOENTRY);
    out.ret = HG_SUCCESS;
    CHECK_OK(HG_Respond(handle, NULL, NULL, &out));
    CHECK(HG_Get_output_payload_size(handle) == grown_bytes);
    return HG_Destroy(handle);
}

static hg_return_t serve_leaking(hg_handle_t handle) { return HG_Destroy(handle); }

static void sums(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, HG_ADDR_NULL, 0, &handle));
    sum_in_t in = {20, 22};
    CHECK_RET(HG_Forward(handle, NULL, NULL, &in), HG_INVALID_ARG);
    CHECK_RET(HG_Reset(handle, both->to, 4711), HG_NOENTRY);
    for (int32_t i = 0; i < 3; ++i) {
        CHECK_OK(HG_Reset(handle, both->to, id));
        in.a = i;
        CHECK_OK(call(both, handle, &in));
        CHECK(HG_Get_input_payload_size(handle) == sizeof in);
        CHECK(HG_Get_output_payload_size(handle) == sizeof(sum_out_t));
        sum_out_t out = {0};
        CHECK_OK(HG_Get_output(handle, &out));
        CHECK(out.sum == 22 + i);
        CHECK_OK(HG_Free_output(handle, &out));
        pump_until(both, &responded.count, i + 1);
        CHECK(responded.ret == HG_SUCCESS);
    }
    CHECK(served == 3 && responded.count == 3);
    /* The handle of the same call again, without a reset. */
    CHECK_OK(call(both, handle, &in));
    CHECK_OK(HG_Destroy(handle));
}

static void echoes(struct both_sides* both, hg_id_t id, size_t length) {
    char* text = malloc(length + 1);
    CHECK(text != NULL);
    memset(text, 'x', length);
    text[length] = '\0';
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    text_t in = {text, length};
    text_t out;
    CHECK_OK(call(both, handle, &in));
    CHECK(HG_Get_input_payload_size(handle) == 8 + length + 3 + 8);
    CHECK(HG_Get_output_payload_size(handle) == 8 + length + 3 + 8);
    CHECK_OK(HG_Get_output(handle, &out));
    CHECK(out.count == length && strcmp(out.text, text) == 0);
    CHECK_OK(HG_Free_output(handle, &out));
    CHECK_OK(HG_Destroy(handle));
    free(text);
}

static void answers_errors(struct both_sides* both, hg_id_t wrongly, hg_id_t never, hg_id_t leaking) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, wrongly, &handle));
    for (int value = HG_PERMISSION; value < HG_RETURN_MAX; ++value) {
        wrong = (hg_return_t)value;
        CHECK_REFUSED(call(both, handle, NULL), wrong);
    }
    CHECK_OK(HG_Reset(handle, both->to, never));
    CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_OK(HG_Reset(handle, both->to, leaking));
    CHECK_RET(call(both, handle, NULL), HG_CANCELED);
    CHECK_OK(HG_Destroy(handle));
}

static void one_way(struct both_sides* both, hg_id_t id) {
    uint8_t disabled = HG_FALSE;
    CHECK_OK(HG_Registered_disabled_response(both->client.hg_class, id, &disabled));
    CHECK(disabled);
    served = 0;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    sum_in_t in = {1, 2};
    CHECK_OK(call(both, handle, &in));
    pump_until(both, &served, 1);
    CHECK_OK(HG_Destroy(handle));
}

static void destroys_in_flight(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK(HG_Ref_get(handle) == 1);
    struct told told = {0, HG_OTHER_ERROR};
    sum_in_t in = {1, 2};
    CHECK_OK(HG_Forward(handle, note, &told, &in));
    CHECK(HG_Ref_get(handle) == 2);
    CHECK_RET(HG_Forward(handle, note, &told, &in), HG_BUSY);
    CHECK_RET(HG_Reset(handle, both->to, id), HG_BUSY);
    CHECK_OK(HG_Destroy(handle));
    pump_until(both, &told.count, 1);
    CHECK(told.ret == HG_SUCCESS);
}

/* In a callback and beside it. */
static hg_return_t count_in_callback(const struct hg_cb_info* info) {
    const hg_handle_t handle = info->info.forward.handle;
    sum_out_t out = {0};
    CHECK(HG_Ref_get(handle) == 2);
    CHECK_OK(HG_Get_output(handle, &out));
    CHECK(HG_Ref_get(handle) == 3 && out.sum == 3);
    CHECK_OK(HG_Free_output(handle, &out));
    CHECK(HG_Ref_get(handle) == 2);
    return note(info);
}

static void counts_references(struct both_sides* both, hg_id_t id) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    struct told told = {0, HG_OTHER_ERROR};
    sum_in_t in = {1, 2};
    CHECK_OK(HG_Forward(handle, count_in_callback, &told, &in));
    pump_until(both, &told.count, 1);
    CHECK(told.ret == HG_SUCCESS && HG_Ref_get(handle) == 1);
    CHECK_OK(HG_Destroy(handle));
}

static void grows_or_fails(struct both_sides* both, hg_id_t id) {
    grown_bytes = HG_Class_get_input_eager_size(both->client.hg_class) + 1000;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    struct grown in = {HG_NOENTRY, grown_bytes};
    CHECK_RET(HG_Forward(handle, note, NULL, &in), HG_NOENTRY);
    CHECK(HG_Ref_get(handle) == 1);
    in.ret = HG_SUCCESS;
    CHECK_OK(call(both, handle, &in));
    CHECK(HG_Get_input_payload_size(handle) == grown_bytes);
    CHECK(HG_Get_output_payload_size(handle) == grown_bytes);
    CHECK_OK(HG_Destroy(handle));
}

static hg_id_t on_both(struct both_sides* both, const char* name, hg_proc_cb_t in, hg_proc_cb_t out,
                       hg_rpc_cb_t serve) {
    const bool one_class = both->client.hg_class == both->server.hg_class;
    const hg_id_t id = HG_Register_name(both->server.hg_class, name, in, out, serve);
    CHECK(id != 0);
    if (!one_class) CHECK(HG_Register_name(both->client.hg_class, name, in, out, NULL) == id);
    return id;
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t sum = on_both(&both, "sum", hg_proc_sum_in_t, hg_proc_sum_out_t, serve_sum);
    sums(&both, sum);
    destroys_in_flight(&both, sum);
    counts_references(&both, on_both(&both, "counted", hg_proc_sum_in_t, hg_proc_sum_out_t, serve_counted));
    grows_or_fails(&both, on_both(&both, "grown", hg_proc_grown, hg_proc_grown, serve_grown));
    const hg_id_t echo = on_both(&both, "echo", hg_proc_text_t, hg_proc_text_t, serve_echo);
    echoes(&both, echo, 5);
    echoes(&both, echo, HG_Class_get_input_eager_size(both.client.hg_class) * 2);
    echoes(&both, echo, 1000000);
    const hg_id_t wrongly = on_both(&both, "wrongly", NULL, NULL, serve_wrongly);
    const hg_id_t never = on_both(&both, "never", NULL, NULL, serve_never);
    const hg_id_t leaking = on_both(&both, "leaking", NULL, NULL, serve_leaking);
    answers_errors(&both, wrongly, never, leaking);
    const hg_id_t way = on_both(&both, "one_way", hg_proc_sum_in_t, NULL, serve_one_way);
    CHECK_OK(HG_Registered_disable_response(both.server.hg_class, way, HG_TRUE));
    CHECK_OK(HG_Registered_disable_response(both.client.hg_class, way, HG_TRUE));
    one_way(&both, way);
    close_both_sides(&both);
    return 0;
}
