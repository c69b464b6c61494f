/* A file is saved on the server: the client lends its memory, the server pulls it and writes. */
#include "example.h"

#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <string.h>
#include <unistd.h>

MERCURY_GEN_PROC(save_in_t, ((hg_const_string_t)(name))((hg_bulk_t)(content)))
MERCURY_GEN_PROC(save_out_t, ((int32_t)(ret)))

static hg_id_t save_id;

/* What the server keeps while the data arrives. */
struct saving {
    hg_handle_t handle;
    save_in_t in;
    hg_bulk_t local;
};

static int32_t write_file(const char* name, hg_bulk_t local) {
    void* data = NULL;
    hg_size_t bytes = 0;
    uint32_t count = 0;
    REQUIRE(HG_Bulk_access(local, 0, HG_Bulk_get_size(local), HG_BULK_READ_ONLY, 1, &data, &bytes, &count) ==
            HG_SUCCESS);
    FILE* file = fopen(name, "wb");
    if (!file) return -1;
    const bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written ? 0 : -1;
}

static hg_return_t pulled(const struct hg_cb_info* info) {
    struct saving* saving = info->arg;
    save_out_t out = {-1};
    if (info->ret == HG_SUCCESS) out.ret = write_file(saving->in.name, saving->local);
    printf("server: %llu bytes, %s\n", (unsigned long long)info->info.bulk.size, HG_Error_to_string(info->ret));
    fflush(stdout);
    HG_Respond(saving->handle, NULL, NULL, &out);
    HG_Bulk_free(saving->local);
    HG_Free_input(saving->handle, &saving->in);
    HG_Destroy(saving->handle);
    free(saving);
    return HG_SUCCESS;
}

static hg_return_t save(hg_handle_t handle) {
    const struct hg_info* info = HG_Get_info(handle);
    struct saving* saving = calloc(1, sizeof *saving);
    REQUIRE(saving);
    saving->handle = handle;
    REQUIRE(HG_Get_input(handle, &saving->in) == HG_SUCCESS);
    const hg_size_t bytes = HG_Bulk_get_size(saving->in.content);
    /* NULL: the library allocates the memory. */
    REQUIRE(HG_Bulk_create(info->hg_class, 1, NULL, &bytes, HG_BULK_WRITE_ONLY, &saving->local) == HG_SUCCESS);
    return HG_Bulk_transfer(info->context, pulled, saving, HG_BULK_PULL, info->addr, saving->in.content, 0,
                            saving->local, 0, bytes, HG_OP_ID_IGNORE);
}

static void registers(struct side* side) {
    save_id = MERCURY_REGISTER(side->hg_class, "save", save_in_t, save_out_t, save);
}

static hg_return_t answered(const struct hg_cb_info* info) {
    save_out_t out = {-1};
    REQUIRE(info->ret == HG_SUCCESS);
    REQUIRE(HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS);
    REQUIRE(out.ret == 0);
    HG_Free_output(info->info.forward.handle, &out);
    *(bool*)info->arg = true;
    return HG_SUCCESS;
}

static bool same_content(const char* name, const char* data, size_t bytes) {
    char* read = malloc(bytes + 1);
    FILE* file = fopen(name, "rb");
    REQUIRE(read && file);
    const bool same = fread(read, 1, bytes + 1, file) == bytes && memcmp(read, data, bytes) == 0;
    fclose(file);
    free(read);
    return same;
}

static void client(struct side* side, hg_addr_t server) {
    const hg_size_t bytes = 3000000;
    char* data = malloc(bytes);
    char name[] = "saved-XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(data && file >= 0);
    close(file);
    for (hg_size_t i = 0; i < bytes; ++i) data[i] = (char)(i * 31 / 7);

    save_in_t in = {name, HG_BULK_NULL};
    void* buffer = data;
    REQUIRE(HG_Bulk_create(side->hg_class, 1, &buffer, &bytes, HG_BULK_READ_ONLY, &in.content) == HG_SUCCESS);
    hg_handle_t handle = HG_HANDLE_NULL;
    bool done = false;
    REQUIRE(HG_Create(side->context, server, save_id, &handle) == HG_SUCCESS);
    REQUIRE(HG_Forward(handle, answered, &done, &in) == HG_SUCCESS);
    run_until(side, &done);
    /* The memory is lent until the reply has arrived. */
    REQUIRE(HG_Bulk_free(in.content) == HG_SUCCESS);
    REQUIRE(HG_Destroy(handle) == HG_SUCCESS);
    printf("client: saved, %s\n", same_content(name, data, bytes) ? "the same bytes" : "other bytes");
    unlink(name);
    free(data);
}

int main(int argc, char** argv) { return run_both(argc > 1 ? argv[1] : "ofi+tcp://127.0.0.1", registers, client); }
