/* SPDX-License-Identifier: BSD-3-Clause
 * If there is too much at once, HG_AGAIN is returned by the function or passed to the callback. Nothing is lost, and
 * afterwards there is room again. */
#include "both_sides.h"

#include <stdlib.h>

enum { more_than_calls = 65536 + 64, more_than_requests = 16384 + 64 };

static struct both_sides both;
static hg_id_t answered;
static hg_id_t kept;
static hg_handle_t handles[more_than_calls];

static int ok;
static int again;
static hg_return_t count(const struct hg_cb_info* info) {
    CHECK(info->ret == HG_SUCCESS || info->ret == HG_AGAIN);
    ++*(info->ret == HG_SUCCESS ? &ok : &again);
    return HG_SUCCESS;
}

static hg_return_t serve_answer(hg_handle_t handle) {
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static hg_handle_t in_hands[more_than_requests];
static int in_hands_count;
static hg_return_t serve_later(hg_handle_t handle) {
    CHECK(in_hands_count < more_than_requests);
    in_hands[in_hands_count++] = handle;
    return HG_SUCCESS;
}

/* Forwards until there is no room or `most` calls are in flight; returns how many are. */
static int forward_many(hg_id_t id, int most) {
    ok = again = 0;
    int begun = 0;
    for (; begun < most; ++begun) {
        CHECK_OK(HG_Create(both.client.context, both.to, id, &handles[begun]));
        const hg_return_t ret = HG_Forward(handles[begun], count, NULL, NULL);
        if (ret == HG_SUCCESS) continue;
        CHECK(ret == HG_AGAIN);
        CHECK_OK(HG_Destroy(handles[begun]));
        break;
    }
    return begun;
}

static void end_all(int begun) {
    const double end = now_ms() + 40e3;
    while (ok + again < begun && now_ms() < end) pump_once(&both);
    CHECK(ok + again == begun);
    for (int i = 0; i < begun; ++i) CHECK_OK(HG_Destroy(handles[i]));
}

static void works_again(void) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both.client.context, both.to, answered, &handle));
    CHECK_OK(call(&both, handle, NULL));
    CHECK_OK(HG_Destroy(handle));
}

static void calls_in_flight(void) {
    const int begun = forward_many(answered, more_than_calls);
    CHECK(begun > 0 && begun < more_than_calls);
    end_all(begun);
    CHECK(ok > 0);
    works_again();
}

static void requests_in_hands(void) {
    const int begun = forward_many(kept, more_than_requests);
    CHECK(begun == more_than_requests);
    const double end = now_ms() + 40e3;
    while (in_hands_count + again < begun && now_ms() < end) pump_once(&both);
    CHECK(in_hands_count + again == begun && again > 0 && ok == 0);
    for (int i = 0; i < in_hands_count; ++i) {
        CHECK_OK(HG_Respond(in_hands[i], NULL, NULL, NULL));
        CHECK_OK(HG_Destroy(in_hands[i]));
    }
    end_all(begun);
    CHECK(ok == in_hands_count);
    works_again();
}

/* A network that refuses the memory refuses it each time: self takes 4,096 segments, tcp takes more. */
static void segments(bool listens) {
    enum { count = 5000 };
    static char byte;
    static void* buffers[count];
    static hg_size_t sizes[count];
    for (int i = 0; i < count; ++i) {
        buffers[i] = &byte;
        sizes[i] = 1;
    }
    hg_bulk_t bulk = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(both.client.hg_class, count, buffers, sizes, HG_BULK_READ_ONLY, &bulk));
    char bytes[4096];
    HG_Set_log_level("none");
    const hg_return_t first = HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk);
    CHECK(listens || first != HG_SUCCESS);
    CHECK_RET(HG_Bulk_serialize(bytes, sizeof bytes, 0, bulk), first);
    HG_Set_log_level("error");
    CHECK_OK(HG_Bulk_free(bulk));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    HG_Set_log_level("error"); /* the core warns of overload */
    open_both_sides(&both, argv[1], NULL);
    answered = HG_Register_name(both.server.hg_class, "answered", NULL, NULL, serve_answer);
    kept = HG_Register_name(both.server.hg_class, "kept", NULL, NULL, serve_later);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(HG_Register_name(both.client.hg_class, "answered", NULL, NULL, NULL) == answered);
        CHECK(HG_Register_name(both.client.hg_class, "kept", NULL, NULL, NULL) == kept);
    }
    calls_in_flight();
    requests_in_hands();
    segments(HG_Class_is_listening(both.client.hg_class));
    close_both_sides(&both);
    return 0;
}
