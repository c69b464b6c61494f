/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers that pass their handles to worker threads, which read arguments, transfer, cancel and respond while another
 * thread is in HG_Progress. */
#include "both_sides.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { workers = 3, in_flight = 16, rounds = 20, bytes_each = 200000 };

MERCURY_GEN_PROC(work_in_t, ((hg_bulk_t)(bulk))((uint32_t)(number)))
MERCURY_GEN_PROC(work_out_t, ((uint64_t)(sum))((int32_t)(ret)))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static hg_handle_t queue[in_flight];
static int queued;
static atomic_bool stop;
static struct both_sides both;

static hg_return_t serve_work(hg_handle_t handle) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    queue[queued++] = handle;
    CHECK(pthread_cond_signal(&arrived) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return HG_SUCCESS;
}

struct work {
    hg_handle_t handle;
    work_in_t in;
    hg_bulk_t local;
    unsigned char* memory;
};

static hg_return_t pulled(const struct hg_cb_info* info) {
    struct work* work = info->arg;
    work_out_t out = {0, info->ret};
    if (info->ret == HG_SUCCESS) {
        for (size_t i = 0; i < bytes_each; ++i) out.sum += work->memory[i];
    }
    const hg_return_t responded = HG_Respond(work->handle, NULL, NULL, &out);
    CHECK(responded == HG_SUCCESS);
    CHECK_OK(HG_Bulk_free(work->local));
    CHECK_OK(HG_Free_input(work->handle, &work->in));
    CHECK_OK(HG_Destroy(work->handle));
    free(work->memory);
    free(work);
    return HG_SUCCESS;
}

static void begin(hg_handle_t handle) {
    struct work* work = calloc(1, sizeof *work);
    CHECK(work != NULL);
    work->handle = handle;
    work->memory = malloc(bytes_each);
    CHECK(work->memory != NULL);
    CHECK_OK(HG_Get_input(handle, &work->in));
    const struct hg_info* info = HG_Get_info(handle);
    void* buffer = work->memory;
    const hg_size_t size = bytes_each;
    CHECK_OK(HG_Bulk_create(info->hg_class, 1, &buffer, &size, HG_BULK_WRITE_ONLY, &work->local));
    const bool cancel = work->in.number % 4 == 0;
    hg_op_id_t op = HG_OP_ID_NULL;
    CHECK_OK(HG_Bulk_transfer(info->context, pulled, work, HG_BULK_PULL, info->addr, work->in.bulk, 0, work->local, 0,
                              size, &op));
    if (cancel) CHECK_OK(HG_Bulk_cancel(op)); /* if it is too late, it has no effect on any call */
}

static void* take_work(void* none) {
    while (!atomic_load(&stop)) {
        hg_handle_t handle = HG_HANDLE_NULL;
        CHECK(pthread_mutex_lock(&mutex) == 0);
        while (queued == 0 && !atomic_load(&stop)) CHECK(pthread_cond_wait(&arrived, &mutex) == 0);
        if (queued > 0) handle = queue[--queued];
        CHECK(pthread_mutex_unlock(&mutex) == 0);
        if (handle != HG_HANDLE_NULL) begin(handle);
    }
    return none;
}

static void* drive_server(void* none) {
    while (!atomic_load(&stop)) {
        (void)HG_Progress(both.server.context, 10);
        (void)HG_Trigger(both.server.context, 0, 8, NULL);
    }
    return none;
}

static atomic_int answered;
static atomic_int whole;
static uint64_t expected;

static hg_return_t check_work(const struct hg_cb_info* info) {
    work_out_t out;
    CHECK_OK(info->ret);
    CHECK_OK(HG_Get_output(info->info.forward.handle, &out));
    CHECK(out.ret == HG_SUCCESS || out.ret == HG_CANCELED);
    if (out.ret == HG_SUCCESS) {
        CHECK(out.sum == expected);
        atomic_fetch_add(&whole, 1);
    }
    CHECK_OK(HG_Free_output(info->info.forward.handle, &out));
    atomic_fetch_add(&answered, 1);
    return HG_SUCCESS;
}

static void call_in_rounds(hg_id_t id, hg_bulk_t bulk) {
    hg_handle_t handles[in_flight];
    for (int i = 0; i < in_flight; ++i) CHECK_OK(HG_Create(both.client.context, both.to, id, &handles[i]));
    for (uint32_t round = 0; round < rounds; ++round) {
        atomic_store(&answered, 0);
        for (uint32_t i = 0; i < in_flight; ++i) {
            work_in_t in = {bulk, round * in_flight + i};
            CHECK_OK(HG_Reset(handles[i], both.to, id));
            CHECK_OK(HG_Forward(handles[i], check_work, NULL, &in));
        }
        const double end = now_ms() + 20e3;
        while (atomic_load(&answered) < in_flight && now_ms() < end) {
            (void)HG_Progress(both.client.context, 10);
            (void)HG_Trigger(both.client.context, 0, 8, NULL);
        }
        CHECK(atomic_load(&answered) == in_flight);
    }
    for (int i = 0; i < in_flight; ++i) CHECK_OK(HG_Destroy(handles[i]));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t id = MERCURY_REGISTER(both.server.hg_class, "work", work_in_t, work_out_t, serve_work);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(MERCURY_REGISTER(both.client.hg_class, "work", work_in_t, work_out_t, NULL) == id);
    }
    unsigned char* memory = malloc(bytes_each);
    CHECK(memory != NULL);
    for (size_t i = 0; i < bytes_each; ++i) {
        memory[i] = (unsigned char)(i * 13);
        expected += memory[i];
    }
    void* buffer = memory;
    const hg_size_t size = bytes_each;
    hg_bulk_t bulk = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(both.client.hg_class, 1, &buffer, &size, HG_BULK_READ_ONLY, &bulk));

    pthread_t threads[workers + 1];
    CHECK(pthread_create(&threads[workers], NULL, drive_server, NULL) == 0);
    for (int i = 0; i < workers; ++i) CHECK(pthread_create(&threads[i], NULL, take_work, NULL) == 0);
    call_in_rounds(id, bulk);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    atomic_store(&stop, true);
    CHECK(pthread_cond_broadcast(&arrived) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    for (int i = 0; i <= workers; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(atomic_load(&whole) >= in_flight * rounds * 3 / 4);
    CHECK_OK(HG_Bulk_free(bulk));
    for (int i = 0; i < 10; ++i) pump_once(&both);
    close_both_sides(&both);
    free(memory);
    return 0;
}
