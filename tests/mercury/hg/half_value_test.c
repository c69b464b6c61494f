/* SPDX-License-Identifier: BSD-3-Clause
 * Values that end too early: everything decoded before is freed, and HG_Get_input fails as if nothing had been
 * decoded. */
#include "both_sides.h"

#include <string.h>

/* How many of these exist. */
static int counted = 0;
typedef struct {
    char* memory;
} counted_t;

static hg_return_t hg_proc_counted_t(hg_proc_t proc, void* data) {
    counted_t* value = data;
    uint8_t byte = 7;
    const hg_return_t ret = hg_proc_uint8_t(proc, &byte);
    if (ret != HG_SUCCESS || hg_proc_get_op(proc) == HG_ENCODE) return ret;
    if (hg_proc_get_op(proc) == HG_DECODE) {
        CHECK(byte == 7);
        value->memory = malloc(1);
        CHECK(value->memory != NULL);
        ++counted;
    } else {
        CHECK(value->memory != NULL);
        free(value->memory);
        value->memory = NULL;
        --counted;
    }
    return HG_SUCCESS;
}

MERCURY_GEN_PROC(inner_t, ((counted_t)(first))((int32_t)(number))((counted_t)(second)))
MERCURY_GEN_PROC(outer_t, ((hg_string_t)(text))((hg_bulk_t)(bulk))((inner_t)(inner))((int32_t)(last)))
MERCURY_GEN_PROC(half_t, ((hg_string_t)(text))((hg_bulk_t)(bulk)))

static outer_t make_outer(struct both_sides* both, char* text) {
    static char memory[10000];
    void* buffer = memory;
    const hg_size_t bytes = sizeof memory;
    outer_t outer = {.text = text, .last = 9};
    CHECK_OK(HG_Bulk_create(both->client.hg_class, 1, &buffer, &bytes, HG_BULK_READ_ONLY, &outer.bulk));
    return outer;
}

/* A leaked bulk handle is noticed when the class is finalized: HG_BUSY. */
static void cut_anywhere(struct both_sides* both) {
    char bytes[1024];
    char text[] = "a text";
    outer_t in = make_outer(both, text);
    outer_t out;
    hg_proc_t proc = HG_PROC_NULL;
    CHECK_OK(hg_proc_create_set(both->client.hg_class, bytes, sizeof bytes, HG_ENCODE, HG_NOHASH, &proc));
    CHECK_OK(hg_proc_outer_t(proc, &in));
    const hg_size_t used = hg_proc_get_size_used(proc);
    HG_Set_log_level("none");
    for (hg_size_t cut = 0; cut < used; ++cut) {
        memset(&out, 0, sizeof out);
        CHECK_OK(hg_proc_reset(proc, bytes, cut, HG_DECODE));
        CHECK(hg_proc_outer_t(proc, &out) == HG_OVERFLOW);
        CHECK(out.text == NULL && out.bulk == HG_BULK_NULL && counted == 0);
        CHECK(hg_proc_get_op(proc) == HG_DECODE);
    }
    HG_Set_log_level("warning");
    CHECK_OK(hg_proc_reset(proc, bytes, used, HG_DECODE));
    CHECK_OK(hg_proc_outer_t(proc, &out));
    CHECK(strcmp(out.text, text) == 0 && out.last == 9 && counted == 2);
    CHECK_OK(hg_proc_reset(proc, NULL, 0, HG_FREE));
    CHECK_OK(hg_proc_outer_t(proc, &out));
    CHECK(counted == 0);
    CHECK_OK(hg_proc_free(proc));
    CHECK_OK(HG_Bulk_free(in.bulk));
}

static hg_return_t refuse_half(hg_handle_t handle) {
    outer_t in;
    memset(&in, 0, sizeof in);
    CHECK_RET(HG_Get_input(handle, &in), HG_OVERFLOW);
    CHECK(in.text == NULL && in.bulk == HG_BULK_NULL);
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* The bytes from a peer that knows only the first half of the value. */
static void comes_by_half(struct both_sides* both) {
    const hg_id_t id = HG_Register_name(both->server.hg_class, "half", hg_proc_outer_t, NULL, refuse_half);
    CHECK(HG_Register_name(both->client.hg_class, "half", hg_proc_half_t, NULL, NULL) == id);
    char text[] = "a text";
    outer_t in = make_outer(both, text);
    half_t half = {in.text, in.bulk};
    for (int i = 0; i < 100; ++i) {
        hg_handle_t handle = HG_HANDLE_NULL;
        CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
        CHECK_OK(call(both, handle, &half));
        CHECK_OK(HG_Destroy(handle));
    }
    CHECK_OK(HG_Bulk_free(in.bulk));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    cut_anywhere(&both);
    if (both.client.hg_class != both.server.hg_class) comes_by_half(&both);
    close_both_sides(&both);
    return 0;
}
