/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers pass their handles to another thread, which destroys each one twice without a response, as programs for
 * Mercury do if they want none. Mostly that happens before the thread that ran the handler has finished with the
 * handle, since a third thread is in HG_Progress. */
#include "both_sides.h"

#include <pthread.h>
#include <stdatomic.h>

enum { in_flight = 16, rounds = 60 };

static struct both_sides both;
static _Atomic(hg_handle_t) handed;
static atomic_bool stop;

static hg_return_t hand_over(hg_handle_t handle) {
    hg_handle_t none = HG_HANDLE_NULL;
    while (!atomic_compare_exchange_weak(&handed, &none, handle)) none = HG_HANDLE_NULL;
    return HG_SUCCESS;
}

static void* destroy_twice(void* none) {
    while (!atomic_load(&stop)) {
        const hg_handle_t handle = atomic_exchange(&handed, HG_HANDLE_NULL);
        if (handle == HG_HANDLE_NULL) continue;
        CHECK_OK(HG_Destroy(handle));
        CHECK_OK(HG_Destroy(handle));
    }
    return none;
}

static void* progress_server(void* none) {
    while (!atomic_load(&stop)) (void)HG_Progress(both.server.context, 0);
    return none;
}

static hg_return_t canceled(const struct hg_cb_info* info) {
    CHECK(info->ret == HG_CANCELED);
    ++*(int*)info->arg;
    return HG_SUCCESS;
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t id = HG_Register_name(both.server.hg_class, "abandoned", NULL, NULL, hand_over);
    CHECK(HG_Register_name(both.client.hg_class, "abandoned", NULL, NULL, NULL) == id);
    hg_handle_t handles[in_flight];
    for (int i = 0; i < in_flight; ++i) CHECK_OK(HG_Create(both.client.context, both.to, id, &handles[i]));
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, destroy_twice, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, progress_server, NULL) == 0);
    for (int round = 0; round < rounds; ++round) {
        int answered = 0;
        for (int i = 0; i < in_flight; ++i) CHECK_OK(HG_Forward(handles[i], canceled, &answered, NULL));
        pump_until(&both, &answered, in_flight);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < in_flight; ++i) CHECK_OK(HG_Destroy(handles[i]));
    close_both_sides(&both);
    return 0;
}
