/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk handles of CUDA memory, on a simulated driver (tests/far/fake_cuda.cpp), or on the real one if LD_LIBRARY_PATH
 * leads to it. */
#include "both_sides.h"

#include <string.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxPushCurrent_v2(void* context);
int cuMemAlloc_v2(uintptr_t* address, size_t bytes);
int cuMemFree_v2(uintptr_t address);
int cuMemcpyHtoD_v2(uintptr_t to, const void* from, size_t bytes);
int cuMemcpyDtoH_v2(void* to, uintptr_t from, size_t bytes);

enum { first_bytes = 700000, second_bytes = 300000, bytes = first_bytes + second_bytes };

MERCURY_GEN_PROC(device_in_t, ((hg_bulk_t)(bulk))((uint8_t)(push)))
MERCURY_GEN_PROC(device_out_t, ((int32_t)(ret)))

static const struct hg_bulk_attr cuda = {HG_MEM_TYPE_CUDA, 0};
static void* remote_memory;       /* of the server, also on the device */
static unsigned char seen[bytes]; /* device memory, copied here */

static unsigned char pattern(size_t at) { return (unsigned char)(at * 7 + at / 251); }

static void* allocate(size_t size) {
    uintptr_t address = 0;
    CHECK(cuMemAlloc_v2(&address, size) == 0);
    return (void*)address;
}

static void release(void* memory) { CHECK(cuMemFree_v2((uintptr_t)memory) == 0); }

static void write_to(void* device, size_t size) { CHECK(cuMemcpyHtoD_v2((uintptr_t)device, seen, size) == 0); }
static void read_from(const void* device, size_t size) { CHECK(cuMemcpyDtoH_v2(seen, (uintptr_t)device, size) == 0); }

struct job {
    hg_handle_t handle;
    device_in_t in;
    hg_bulk_t local;
};

static hg_return_t moved(const struct hg_cb_info* info) {
    struct job* job = info->arg;
    device_out_t out = {info->ret};
    CHECK_OK(HG_Respond(job->handle, NULL, NULL, &out));
    CHECK_OK(HG_Bulk_free(job->local));
    CHECK_OK(HG_Free_input(job->handle, &job->in));
    CHECK_OK(HG_Destroy(job->handle));
    free(job);
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle) {
    struct job* job = calloc(1, sizeof *job);
    CHECK(job != NULL);
    job->handle = handle;
    CHECK_OK(HG_Get_input(handle, &job->in));
    const struct hg_info* info = HG_Get_info(handle);
    void* buffer = remote_memory;
    const hg_size_t size = bytes;
    CHECK_OK(HG_Bulk_create_attr(info->hg_class, 1, &buffer, &size, HG_BULK_READWRITE, &cuda, &job->local));
    CHECK_OK(HG_Bulk_transfer(info->context, moved, job, job->in.push ? HG_BULK_PUSH : HG_BULK_PULL, info->addr,
                              job->in.bulk, 0, job->local, 0, size, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static void move(struct both_sides* both, hg_id_t id, hg_bulk_t bulk, uint8_t push) {
    hg_handle_t handle = HG_HANDLE_NULL;
    device_in_t in = {bulk, push};
    device_out_t out = {HG_OTHER_ERROR};
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(call(both, handle, &in));
    CHECK_OK(HG_Get_output(handle, &out));
    CHECK(out.ret == HG_SUCCESS);
    CHECK_OK(HG_Free_output(handle, &out));
    CHECK_OK(HG_Destroy(handle));
}

static hg_return_t count(const struct hg_cb_info* info) {
    CHECK(info->ret == HG_SUCCESS);
    ++*(int*)info->arg;
    return HG_SUCCESS;
}

/* Between two handles of one class. */
static void copies(struct both_sides* both, hg_bulk_t device) {
    unsigned char* host = calloc(1, bytes);
    CHECK(host != NULL);
    void* buffer = host;
    const hg_size_t size = bytes;
    hg_bulk_t local = HG_BULK_NULL;
    int done = 0;
    CHECK_OK(HG_Bulk_create(both->client.hg_class, 1, &buffer, &size, HG_BULK_READWRITE, &local));
    CHECK_OK(HG_Bulk_transfer(both->client.context, count, &done, HG_BULK_PULL, both->to, device, 0, local, 0, size,
                              HG_OP_ID_IGNORE));
    pump_until(both, &done, 1);
    for (size_t i = 0; i < bytes; ++i) CHECK(host[i] == pattern(i));
    CHECK_OK(HG_Bulk_free(local));
    free(host);
}

/* The class serves peers that its device memory is lent to; the id of that handler is not for users. */
static void own_handler(hg_class_t* hg_class) {
    hg_id_t id = 14695981039346656037u; /* FNV-1a, 64 bits */
    for (const char* at = "cinnabar.far.move"; *at; ++at) id = (id ^ (unsigned char)*at) * 1099511628211u;
    uint8_t flag = 1;
    CHECK_OK(HG_Registered(hg_class, id, &flag));
    CHECK(flag == 0);
    CHECK_REFUSED(HG_Register(hg_class, id, NULL, NULL, serve), HG_EXIST);
    CHECK_RET(HG_Deregister(hg_class, id), HG_NOENTRY);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    void* context = NULL;
    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t id = MERCURY_REGISTER(both.server.hg_class, "device", device_in_t, device_out_t, serve);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(MERCURY_REGISTER(both.client.hg_class, "device", device_in_t, device_out_t, NULL) == id);
    }
    remote_memory = allocate(bytes);
    void* buffers[] = {allocate(first_bytes), allocate(second_bytes)};
    const hg_size_t sizes[] = {first_bytes, second_bytes};
    hg_bulk_t device = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create_attr(both.client.hg_class, 2, buffers, sizes, HG_BULK_READWRITE, &cuda, &device));
    for (size_t i = 0; i < bytes; ++i) seen[i] = pattern(i);
    write_to(buffers[0], first_bytes);
    memmove(seen, seen + first_bytes, second_bytes);
    write_to(buffers[1], second_bytes);
    move(&both, id, device, 0);
    read_from(remote_memory, bytes);
    for (size_t i = 0; i < bytes; ++i) CHECK(seen[i] == pattern(i));
    copies(&both, device);
    own_handler(both.client.hg_class);
    memset(seen, 9, bytes);
    write_to(remote_memory, bytes);
    move(&both, id, device, 1);
    memset(seen, 0, bytes);
    read_from(buffers[0], first_bytes);
    for (size_t i = 0; i < first_bytes; ++i) CHECK(seen[i] == 9);
    read_from(buffers[1], second_bytes);
    for (size_t i = 0; i < second_bytes; ++i) CHECK(seen[i] == 9);

    hg_bulk_t refused = HG_BULK_NULL;
    char host = 0;
    void* no_device = &host;
    const hg_size_t one = 1;
    CHECK_REFUSED(HG_Bulk_create_attr(both.client.hg_class, 1, &no_device, &one, HG_BULK_READ_ONLY, &cuda, &refused),
                  HG_INVALID_ARG);
    CHECK_REFUSED(HG_Bulk_create_attr(both.client.hg_class, 1, NULL, &one, HG_BULK_READ_ONLY, &cuda, &refused),
                  HG_OPNOTSUPPORTED);
    CHECK_OK(HG_Bulk_free(device));
    release(buffers[0]);
    release(buffers[1]);
    close_both_sides(&both);
    release(remote_memory);
    return 0;
}
