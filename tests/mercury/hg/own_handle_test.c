/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptions that return to the class that made them, and are kept for longer than the handle that they describe. */
#include "both_sides.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { memory_bytes = 4 << 20 };

/* Memory that is unmapped once it is freed, its handle, and a handle that was decoded from the description. */
struct lent {
    void* memory;
    hg_bulk_t original;
    hg_bulk_t decoded;
};

static hg_bulk_t decode_description(hg_class_t* hg_class, hg_bulk_t handle) {
    const hg_size_t bytes = HG_Bulk_get_serialize_size(handle, 0);
    CHECK(bytes != 0);
    char* text = malloc(bytes);
    CHECK(text != NULL);
    CHECK_OK(HG_Bulk_serialize(text, bytes, 0, handle));
    hg_bulk_t decoded = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_deserialize(hg_class, &decoded, text, bytes));
    free(text);
    return decoded;
}

static void make_lent(struct side* side, struct lent* lent) {
    const hg_size_t bytes = memory_bytes;
    lent->memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(lent->memory != MAP_FAILED);
    memset(lent->memory, 'm', memory_bytes);
    CHECK_OK(HG_Bulk_create(side->hg_class, 1, &lent->memory, &bytes, HG_BULK_READWRITE, &lent->original));
    lent->decoded = decode_description(side->hg_class, lent->original);
}

static void free_original(struct lent* lent) {
    CHECK_OK(HG_Bulk_free(lent->original));
    CHECK(munmap(lent->memory, memory_bytes) == 0);
}

static hg_bulk_t allocated(hg_class_t* hg_class) {
    const hg_size_t bytes = memory_bytes;
    hg_bulk_t made = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(hg_class, 1, NULL, &bytes, HG_BULK_READWRITE, &made));
    return made;
}

static hg_return_t pull(struct both_sides* both, struct side* side, hg_addr_t owner, hg_bulk_t from, hg_bulk_t to) {
    struct told told = {0, HG_OTHER_ERROR};
    const hg_return_t started = HG_Bulk_transfer(side->context, note, &told, HG_BULK_PULL, owner, from, 0, to, 0,
                                                 memory_bytes, HG_OP_ID_IGNORE);
    if (started != HG_SUCCESS) return started;
    pump_until(both, &told.count, 1);
    return told.ret;
}

static void leads_nowhere_once_its_memory_is_gone(struct both_sides* both) {
    struct lent lent;
    make_lent(&both->client, &lent);
    hg_bulk_t own = allocated(both->client.hg_class);
    CHECK_OK(pull(both, &both->client, both->to, lent.decoded, own));
    free_original(&lent);
    CHECK_REFUSED(pull(both, &both->client, both->to, lent.decoded, own), HG_INVALID_ARG);
    CHECK_REFUSED(pull(both, &both->client, both->to, own, lent.decoded), HG_INVALID_ARG);
    void* at = NULL;
    hg_size_t size = 0;
    uint32_t count = 0;
    char text[256];
    CHECK_REFUSED(HG_Bulk_access(lent.decoded, 0, 1, HG_BULK_READ_ONLY, 1, &at, &size, &count), HG_INVALID_ARG);
    CHECK(count == 0);
    HG_Set_log_level("none");
    CHECK(HG_Bulk_get_serialize_size(lent.decoded, 0) == 0);
    HG_Set_log_level("warning");
    CHECK_REFUSED(HG_Bulk_serialize(text, sizeof text, 0, lent.decoded), HG_INVALID_ARG);
    CHECK_OK(HG_Bulk_free(lent.decoded));
    CHECK_OK(HG_Bulk_free(own));
}

/* A transfer on the network, for which the decoded handle is the local one. */
static void is_kept_by_a_transfer(struct both_sides* both) {
    struct lent lent;
    make_lent(&both->client, &lent);
    hg_bulk_t far = allocated(both->server.hg_class);
    void* at = NULL;
    hg_size_t size = 0;
    uint32_t count = 0;
    CHECK_OK(HG_Bulk_access(far, 0, memory_bytes, HG_BULK_READ_ONLY, 1, &at, &size, &count));
    memset(at, 'f', size);
    hg_bulk_t from = decode_description(both->client.hg_class, far);
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Bulk_transfer(both->client.context, note, &told, HG_BULK_PULL, both->to, from, 0, lent.decoded, 0,
                              memory_bytes, HG_OP_ID_IGNORE));
    CHECK_OK(HG_Bulk_free(lent.original));
    pump_until(both, &told.count, 1);
    CHECK_OK(told.ret);
    CHECK(memcmp(lent.memory, at, memory_bytes) == 0);
    CHECK_REFUSED(pull(both, &both->client, both->to, lent.decoded, lent.decoded), HG_INVALID_ARG);
    CHECK_OK(HG_Bulk_free(from));
    CHECK_OK(HG_Bulk_free(far));
    CHECK_OK(HG_Bulk_free(lent.decoded));
    CHECK(munmap(lent.memory, memory_bytes) == 0);
}

/* A process to which the description was forwarded can access the memory while the original handle exists. */
static void is_passed_on(struct both_sides* both) {
    struct lent lent;
    make_lent(&both->server, &lent);
    hg_bulk_t third = decode_description(both->client.hg_class, lent.decoded);
    hg_bulk_t own = allocated(both->client.hg_class);
    CHECK_OK(pull(both, &both->client, both->to, third, own));
    free_original(&lent);
    HG_Set_log_level("none");
    CHECK(pull(both, &both->client, both->to, third, own) != HG_SUCCESS);
    HG_Set_log_level("warning");
    CHECK_OK(HG_Bulk_free(third));
    CHECK_OK(HG_Bulk_free(lent.decoded));
    CHECK_OK(HG_Bulk_free(own));
}

struct copying {
    struct both_sides* both;
    struct lent lent;
    hg_bulk_t own;
    atomic_int begun;
    struct told told;
};

static void* copies(void* user) {
    struct copying* copying = user;
    struct both_sides* both = copying->both;
    atomic_store(&copying->begun, 1);
    (void)HG_Bulk_transfer(both->client.context, note, &copying->told, HG_BULK_PULL, both->to, copying->lent.decoded, 0,
                           copying->own, 0, memory_bytes, HG_OP_ID_IGNORE);
    return NULL;
}

/* HG_Bulk_free waits for the copy by another thread, or comes before it. */
static void is_freed_while_it_is_copied(struct both_sides* both) {
    HG_Set_log_level("none");
    for (int i = 0; i < 20; ++i) {
        struct copying copying = {.both = both, .own = allocated(both->client.hg_class)};
        make_lent(&both->client, &copying.lent);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, copies, &copying) == 0);
        while (atomic_load(&copying.begun) == 0) sched_yield();
        free_original(&copying.lent);
        CHECK(pthread_join(thread, NULL) == 0);
        pump_once(both);
        CHECK_OK(HG_Bulk_free(copying.lent.decoded));
        CHECK_OK(HG_Bulk_free(copying.own));
    }
    HG_Set_log_level("warning");
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    leads_nowhere_once_its_memory_is_gone(&both);
    is_kept_by_a_transfer(&both);
    is_passed_on(&both);
    is_freed_while_it_is_copied(&both);
    close_both_sides(&both);
    return 0;
}
