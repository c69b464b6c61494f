/* A type that no macro can describe: a hand-written proc for a linked list. */
#include "example.h"

#include <mercury_macros.h>

struct node {
    int32_t value;
    struct node* next;
};
typedef struct node* list_t;

/* One byte says whether a node follows. Encoding walks, decoding allocates, freeing frees. */
static hg_return_t hg_proc_list_t(hg_proc_t proc, void* data) {
    list_t* at = data;
    for (;;) {
        uint8_t more = *at != NULL;
        hg_return_t ret = HG_SUCCESS;
        if (hg_proc_get_op(proc) == HG_FREE) {
            if (!more) return HG_SUCCESS;
            struct node* gone = *at;
            *at = gone->next;
            free(gone);
            continue;
        }
        ret = hg_proc_uint8_t(proc, &more);
        if (hg_proc_get_op(proc) == HG_DECODE) {
            *at = NULL;
            if (ret == HG_SUCCESS && more && !(*at = calloc(1, sizeof **at))) ret = HG_NOMEM;
        }
        if (ret == HG_SUCCESS && more) ret = hg_proc_int32_t(proc, &(*at)->value);
        if (ret != HG_SUCCESS || !more) return ret;
        at = &(*at)->next;
    }
}

MERCURY_GEN_PROC(total_out_t, ((int64_t)(total))((uint32_t)(count)))

static hg_id_t total_id;

static hg_return_t total(hg_handle_t handle) {
    list_t list = NULL;
    total_out_t out = {0, 0};
    const hg_return_t ret = HG_Get_input(handle, &list);
    REQUIRE(ret == HG_SUCCESS);
    for (const struct node* node = list; node; node = node->next) {
        out.total += node->value;
        ++out.count;
    }
    HG_Free_input(handle, &list);
    HG_Respond(handle, NULL, NULL, &out);
    return HG_Destroy(handle);
}

static void registers(struct side* side) {
    total_id = MERCURY_REGISTER(side->hg_class, "total", list_t, total_out_t, total);
}

static hg_return_t answered(const struct hg_cb_info* info) {
    total_out_t out;
    REQUIRE(info->ret == HG_SUCCESS);
    REQUIRE(HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS);
    printf("%u nodes, %lld in all\n", out.count, (long long)out.total);
    HG_Free_output(info->info.forward.handle, &out);
    *(bool*)info->arg = true;
    return HG_SUCCESS;
}

static list_t list_of(int32_t count) {
    list_t list = NULL;
    for (int32_t value = count; value > 0; --value) {
        struct node* node = calloc(1, sizeof *node);
        REQUIRE(node);
        node->value = value;
        node->next = list;
        list = node;
    }
    return list;
}

static void client(struct side* side, hg_addr_t server) {
    hg_handle_t handle = HG_HANDLE_NULL;
    REQUIRE(HG_Create(side->context, server, total_id, &handle) == HG_SUCCESS);
    /* The last one does not fit a message: the server fetches it, invisibly to the program. */
    const int32_t counts[] = {0, 10, 100000};
    for (int i = 0; i < 3; ++i) {
        list_t list = list_of(counts[i]);
        bool done = false;
        REQUIRE(HG_Forward(handle, answered, &done, &list) == HG_SUCCESS);
        run_until(side, &done);
        while (list) {
            struct node* gone = list;
            list = gone->next;
            free(gone);
        }
    }
    REQUIRE(HG_Destroy(handle) == HG_SUCCESS);
}

int main(int argc, char** argv) { return run_both(argc > 1 ? argv[1] : "ofi+tcp://127.0.0.1", registers, client); }
