/* SPDX-License-Identifier: BSD-3-Clause
 * Many threads on one context: some forward and cancel, some are in HG_Progress, some run callbacks, one registers. */
#include "both_sides.h"

#include <pthread.h>
#include <stdatomic.h>

enum { callers = 4, calls_each = 300 };

MERCURY_GEN_PROC(number_t, ((uint64_t)(value)))

static struct both_sides both;
static hg_id_t id;
static atomic_bool stop;
static atomic_int answered;
static atomic_int cancelled;

static hg_return_t serve_number(hg_handle_t handle) {
    number_t in;
    CHECK_OK(HG_Get_input(handle, &in));
    number_t out = {in.value + 1};
    CHECK_OK(HG_Free_input(handle, &in));
    const hg_return_t ret = HG_Respond(handle, NULL, NULL, &out);
    CHECK(ret == HG_SUCCESS);
    return HG_Destroy(handle);
}

struct slot {
    uint64_t value;
    atomic_int done;
};

static hg_return_t got_number(const struct hg_cb_info* info) {
    struct slot* slot = info->arg;
    if (info->ret == HG_SUCCESS) {
        number_t out;
        CHECK_OK(HG_Get_output(info->info.forward.handle, &out));
        CHECK(out.value == slot->value + 1);
        CHECK_OK(HG_Free_output(info->info.forward.handle, &out));
        atomic_fetch_add(&answered, 1);
    } else {
        CHECK(info->ret == HG_CANCELED);
        atomic_fetch_add(&cancelled, 1);
    }
    CHECK(atomic_fetch_add(&slot->done, 1) == 0);
    return HG_SUCCESS;
}

static void* drive_server(void* none) {
    unsigned count = 0;
    while (!atomic_load(&stop)) {
        (void)HG_Progress(both.server.context, 10);
        (void)HG_Trigger(both.server.context, 0, 8, &count);
    }
    return none;
}

static void* drive_client(void* none) {
    unsigned count = 0;
    while (!atomic_load(&stop)) {
        (void)HG_Progress(both.client.context, 10);
        (void)HG_Trigger(both.client.context, 0, 1, &count);
    }
    return none;
}

/* Waits inside HG_Trigger, as some programs do. */
static void* only_trigger(void* none) {
    unsigned count = 0;
    while (!atomic_load(&stop)) (void)HG_Trigger(both.client.context, 5, 4, &count);
    return none;
}

/* Registers an RPC again unchanged, and new ones that are never called. */
static void* keep_registering(void* none) {
    for (hg_id_t other = 1; !atomic_load(&stop); other = other % 500 + 1) {
        CHECK(MERCURY_REGISTER(both.server.hg_class, "number", number_t, number_t, serve_number) == id);
        CHECK_OK(HG_Register_data(both.server.hg_class, id, &both, NULL));
        CHECK(HG_Registered_data(both.server.hg_class, id) == &both);
        CHECK_OK(HG_Register(both.server.hg_class, other, hg_proc_number_t, hg_proc_number_t, serve_number));
    }
    return none;
}

static void* make_calls(void* argument) {
    const uint64_t first = (uint64_t)(size_t)argument * calls_each;
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    for (uint64_t i = 0; i < calls_each; ++i) {
        struct slot slot = {first + i, 0};
        number_t in = {slot.value};
        CHECK_OK(HG_Reset(handle, both.to, id));
        CHECK_OK(HG_Forward(handle, got_number, &slot, &in));
        if (i % 16 == 0) CHECK_OK(HG_Cancel(handle));
        unsigned count = 0;
        while (atomic_load(&slot.done) == 0) {
            if (i % 2 == 0) (void)HG_Progress(both.client.context, 1);
            (void)HG_Trigger(both.client.context, 0, 1, &count);
        }
    }
    CHECK_OK(HG_Destroy(handle));
    return NULL;
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    open_both_sides(&both, argv[1], NULL);
    id = MERCURY_REGISTER(both.server.hg_class, "number", number_t, number_t, serve_number);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(MERCURY_REGISTER(both.client.hg_class, "number", number_t, number_t, NULL) == id);
    }
    pthread_t drivers[5];
    CHECK(pthread_create(&drivers[0], NULL, drive_server, NULL) == 0);
    CHECK(pthread_create(&drivers[1], NULL, drive_server, NULL) == 0);
    CHECK(pthread_create(&drivers[2], NULL, drive_client, NULL) == 0);
    CHECK(pthread_create(&drivers[3], NULL, only_trigger, NULL) == 0);
    CHECK(pthread_create(&drivers[4], NULL, keep_registering, NULL) == 0);
    pthread_t makers[callers];
    for (size_t i = 0; i < callers; ++i) CHECK(pthread_create(&makers[i], NULL, make_calls, (void*)i) == 0);
    for (size_t i = 0; i < callers; ++i) CHECK(pthread_join(makers[i], NULL) == 0);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 5; ++i) CHECK(pthread_join(drivers[i], NULL) == 0);
    CHECK(atomic_load(&answered) + atomic_load(&cancelled) == callers * calls_each);
    CHECK(atomic_load(&cancelled) <= callers * (calls_each / 16 + 1));
    close_both_sides(&both);
    return 0;
}
