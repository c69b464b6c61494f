/* SPDX-License-Identifier: BSD-3-Clause
 * A class that calls itself, and moves its own memory. Its address is the same from all sides. */
#include "both_sides.h"

#include <string.h>

static int served;

static hg_return_t serve_ping(hg_handle_t handle) {
    const struct hg_info* info = HG_Get_info(handle);
    char mine[256], theirs[256];
    hg_size_t mine_bytes = sizeof mine, theirs_bytes = sizeof theirs;
    hg_addr_t self = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(info->hg_class, &self));
    CHECK_OK(HG_Addr_to_string(info->hg_class, mine, &mine_bytes, self));
    CHECK_OK(HG_Addr_to_string(info->hg_class, theirs, &theirs_bytes, info->addr));
    CHECK(strcmp(mine, theirs) == 0 && mine_bytes == theirs_bytes);
    CHECK(HG_Addr_cmp(info->hg_class, self, info->addr) && HG_Addr_cmp(info->hg_class, info->addr, self));
    CHECK_OK(HG_Addr_free(info->hg_class, self));
    ++served;
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* Only if the class listens does its address have a text that others can use. */
static void source_is_oneself(struct both_sides* both, const struct side* side) {
    const hg_id_t id = MERCURY_REGISTER(side->hg_class, "ping", void, void, serve_ping);
    hg_addr_t self = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    const int before = served;
    CHECK_OK(HG_Addr_self(side->hg_class, &self));
    CHECK_OK(HG_Create(side->context, self, id, &handle));
    CHECK_OK(call(both, handle, NULL));
    CHECK(served == before + 1);
    CHECK_OK(HG_Destroy(handle));
    CHECK_OK(HG_Addr_free(side->hg_class, self));
}

static void others_are_not_oneself(struct both_sides* both) {
    hg_addr_t self = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(both->client.hg_class, &self));
    CHECK(!HG_Addr_cmp(both->client.hg_class, self, both->to));
    CHECK_OK(HG_Addr_free(both->client.hg_class, self));
}

/* As by a peer that received the description, except that the owner decodes it. */
static void bound_memory_is_found(struct both_sides* both, const struct side* side) {
    enum { size = 100000 };
    static char from[size], to[size];
    void *from_ptr = from, *to_ptr = to;
    const hg_size_t bytes = size;
    hg_bulk_t owned = HG_BULK_NULL, decoded = HG_BULK_NULL, local = HG_BULK_NULL;
    struct told told = {0, HG_OTHER_ERROR};
    void* text;
    hg_size_t text_bytes;
    memset(from, 'x', size);
    memset(to, 0, size);
    CHECK_OK(HG_Bulk_create(side->hg_class, 1, &from_ptr, &bytes, HG_BULK_READ_ONLY, &owned));
    CHECK_OK(HG_Bulk_create(side->hg_class, 1, &to_ptr, &bytes, HG_BULK_READWRITE, &local));
    CHECK_OK(HG_Bulk_bind(owned, side->context));
    text_bytes = HG_Bulk_get_serialize_size(owned, 0);
    text = malloc(text_bytes);
    CHECK(text != NULL);
    CHECK_OK(HG_Bulk_serialize(text, text_bytes, 0, owned));
    CHECK_OK(HG_Bulk_deserialize(side->hg_class, &decoded, text, text_bytes));
    CHECK_OK(HG_Bulk_bind_transfer(side->context, note, &told, HG_BULK_PULL, decoded, 0, local, 0, size, NULL));
    pump_until(both, &told.count, 1);
    CHECK_RET(told.ret, HG_SUCCESS);
    CHECK(memcmp(from, to, size) == 0);
    CHECK_OK(HG_Bulk_free(decoded));
    CHECK_OK(HG_Bulk_free(local));
    CHECK_OK(HG_Bulk_free(owned));
    free(text);
}

/* Either may be left out. */
static void ranges_without_sizes(const struct side* side) {
    char memory[8];
    void *memory_ptr = memory, *found = NULL;
    const hg_size_t bytes = sizeof memory;
    hg_size_t size = 0;
    uint32_t count = 0;
    hg_bulk_t bulk = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(side->hg_class, 1, &memory_ptr, &bytes, HG_BULK_READWRITE, &bulk));
    CHECK_OK(HG_Bulk_access(bulk, 3, 4, HG_BULK_READ_ONLY, 1, &found, NULL, NULL));
    CHECK(found == memory + 3);
    CHECK_OK(HG_Bulk_access(bulk, 3, 4, HG_BULK_READ_ONLY, 1, NULL, &size, &count));
    CHECK(size == 4 && count == 1);
    CHECK_RET(HG_Bulk_access(bulk, 3, 6, HG_BULK_READ_ONLY, 1, &found, NULL, NULL), HG_INVALID_ARG);
    CHECK_OK(HG_Bulk_free(bulk));
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    source_is_oneself(&both, &both.server);
    bound_memory_is_found(&both, &both.server);
    if (both.client.hg_class != both.server.hg_class) {
        source_is_oneself(&both, &both.client);
        bound_memory_is_found(&both, &both.client);
        others_are_not_oneself(&both);
    }
    ranges_without_sizes(&both.server);
    close_both_sides(&both);
    return 0;
}
