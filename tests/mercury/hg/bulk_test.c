/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk handles: created, serialized, transferred, bound, cancelled. */
#include "both_sides.h"

#include <string.h>

MERCURY_GEN_PROC(move_in_t, ((hg_bulk_t)(bulk))((uint64_t)(origin_offset))((uint64_t)(local_offset))((uint64_t)(size))(
                                (uint8_t)(push))((uint8_t)(cancel)))
MERCURY_GEN_PROC(move_out_t, ((uint64_t)(sum))((int32_t)(ret)))

struct move {
    hg_handle_t handle;
    move_in_t in;
    hg_bulk_t local;
    unsigned char* memory;
};

static unsigned char pattern(size_t at) { return (unsigned char)(at * 7 + at / 251); }

static hg_return_t moved(const struct hg_cb_info* info) {
    struct move* move = info->arg;
    CHECK(info->type == HG_CB_BULK && info->info.bulk.local_handle == move->local);
    CHECK(info->info.bulk.size == move->in.size);
    move_out_t out = {0, info->ret};
    for (uint64_t i = 0; i < move->in.size; ++i) out.sum += move->memory[move->in.local_offset + i];
    CHECK_OK(HG_Respond(move->handle, NULL, NULL, &out));
    CHECK_OK(HG_Bulk_free(move->local));
    CHECK_OK(HG_Free_input(move->handle, &move->in));
    CHECK_OK(HG_Destroy(move->handle));
    free(move->memory);
    free(move);
    return HG_SUCCESS;
}

/* Instead of its own transfer, a move that cancels may cancel an earlier transfer in the same slot. */
static hg_op_id_t cancel_instead = HG_OP_ID_NULL;
static hg_op_id_t last_id = HG_OP_ID_NULL;

static hg_return_t serve_move(hg_handle_t handle) {
    struct move* move = calloc(1, sizeof *move);
    CHECK(move != NULL);
    move->handle = handle;
    CHECK_OK(HG_Get_input(handle, &move->in));
    const struct hg_info* info = HG_Get_info(handle);
    const hg_size_t bytes = HG_Bulk_get_size(move->in.bulk) + move->in.local_offset;
    move->memory = malloc(bytes + 1);
    CHECK(move->memory != NULL);
    for (size_t i = 0; i < bytes; ++i) move->memory[i] = pattern(i + 1);
    void* buffer = move->memory;
    CHECK_OK(HG_Bulk_create(info->hg_class, 1, &buffer, &bytes, HG_BULK_READWRITE, &move->local));
    const hg_bulk_op_t op = move->in.push ? HG_BULK_PUSH : HG_BULK_PULL;
    hg_op_id_t id = HG_OP_ID_NULL;
    hg_return_t started = HG_SUCCESS;
    if (HG_Bulk_get_addr(move->in.bulk) != HG_ADDR_NULL) {
        CHECK_RET(
            HG_Bulk_transfer(info->context, moved, move, op, info->addr, move->in.bulk, 0, move->local, 0, 1, NULL),
            HG_INVALID_ARG);
        started = HG_Bulk_bind_transfer(info->context, moved, move, op, move->in.bulk, move->in.origin_offset,
                                        move->local, move->in.local_offset, move->in.size, &id);
    } else {
        CHECK_REFUSED(HG_Bulk_bind_transfer(info->context, moved, move, op, move->in.bulk, 0, move->local, 0, 1, NULL),
                      HG_INVALID_ARG);
        started = HG_Bulk_transfer_id(info->context, moved, move, op, info->addr, info->context_id, move->in.bulk,
                                      move->in.origin_offset, move->local, move->in.local_offset, move->in.size, &id);
    }
    if (started != HG_SUCCESS) {
        struct hg_cb_info failed = {.arg = move, .type = HG_CB_BULK, .ret = started};
        failed.info.bulk.local_handle = move->local;
        failed.info.bulk.size = move->in.size;
        return moved(&failed);
    }
    last_id = id;
    if (move->in.cancel) CHECK_OK(HG_Bulk_cancel(cancel_instead != HG_OP_ID_NULL ? cancel_instead : id));
    return HG_SUCCESS;
}

struct origin {
    unsigned char* memory;
    size_t bytes;
    hg_bulk_t bulk;
};

static void make_origin(struct both_sides* both, struct origin* origin, uint32_t segments, size_t each, uint8_t flags) {
    origin->bytes = segments * each;
    origin->memory = malloc(origin->bytes + 1);
    CHECK(origin->memory != NULL);
    for (size_t i = 0; i < origin->bytes; ++i) origin->memory[i] = pattern(i);
    void** buffers = calloc(segments, sizeof *buffers);
    hg_size_t* sizes = calloc(segments, sizeof *sizes);
    CHECK(buffers && sizes);
    for (uint32_t i = 0; i < segments; ++i) {
        buffers[i] = origin->memory + i * each;
        sizes[i] = each;
    }
    CHECK_OK(HG_Bulk_create(both->client.hg_class, segments, buffers, sizes, flags, &origin->bulk));
    CHECK(HG_Bulk_get_size(origin->bulk) == origin->bytes);
    CHECK(HG_Bulk_get_segment_count(origin->bulk) == segments);
    CHECK(HG_Bulk_get_flags(origin->bulk) == flags);
    free(buffers);
    free(sizes);
}

static void free_origin(struct origin* origin) {
    CHECK_OK(HG_Bulk_free(origin->bulk));
    free(origin->memory);
}

static hg_return_t move(struct both_sides* both, hg_id_t id, move_in_t in, uint64_t* sum) {
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    CHECK_OK(call(both, handle, &in));
    move_out_t out = {0, 0};
    CHECK_OK(HG_Get_output(handle, &out));
    CHECK_OK(HG_Free_output(handle, &out));
    CHECK_OK(HG_Destroy(handle));
    *sum = out.sum;
    return (hg_return_t)out.ret;
}

static void pulls(struct both_sides* both, hg_id_t id, uint32_t segments, size_t each) {
    struct origin origin;
    make_origin(both, &origin, segments, each, HG_BULK_READ_ONLY);
    const uint64_t sizes[] = {origin.bytes, origin.bytes / 2, 0};
    for (int i = 0; i < 3; ++i) {
        const uint64_t offset = origin.bytes - sizes[i];
        uint64_t expected = 0;
        uint64_t sum = 0;
        for (uint64_t at = offset; at < offset + sizes[i]; ++at) expected += origin.memory[at];
        CHECK_OK(move(both, id, (move_in_t){origin.bulk, offset, 3, sizes[i], 0, 0}, &sum));
        CHECK(sum == expected);
    }
    free_origin(&origin);
}

static void pushes(struct both_sides* both, hg_id_t id, uint32_t segments, size_t each) {
    struct origin origin;
    make_origin(both, &origin, segments, each, HG_BULK_WRITE_ONLY);
    uint64_t sum = 0;
    const uint64_t size = origin.bytes - 5;
    CHECK_OK(move(both, id, (move_in_t){origin.bulk, 5, 0, size, 1, 0}, &sum));
    for (size_t i = 0; i < 5; ++i) CHECK(origin.memory[i] == pattern(i));
    for (size_t i = 0; i < size; ++i) CHECK(origin.memory[i + 5] == pattern(i + 1));
    CHECK_REFUSED(move(both, id, (move_in_t){origin.bulk, 0, 0, 1, 0, 0}, &sum), HG_PERMISSION);
    CHECK_REFUSED(move(both, id, (move_in_t){origin.bulk, 1, 0, origin.bytes, 1, 0}, &sum), HG_INVALID_ARG);
    free_origin(&origin);
}

static void binds(struct both_sides* both, hg_id_t id) {
    struct origin origin;
    make_origin(both, &origin, 3, 50000, HG_BULK_READWRITE);
    CHECK(HG_Bulk_get_addr(origin.bulk) == HG_ADDR_NULL);
    CHECK_OK(HG_Bulk_bind(origin.bulk, both->client.context));
    CHECK(HG_Bulk_get_addr(origin.bulk) != HG_ADDR_NULL);
    CHECK(HG_Bulk_get_context_id(origin.bulk) == 0);
    uint64_t expected = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < origin.bytes; ++i) expected += origin.memory[i];
    CHECK_OK(move(both, id, (move_in_t){origin.bulk, 0, 0, origin.bytes, 0, 0}, &sum));
    CHECK(sum == expected);
    free_origin(&origin);
}

static void cancels(struct both_sides* both, hg_id_t id) {
    struct origin origin;
    make_origin(both, &origin, 1, 64u << 20, HG_BULK_READWRITE);
    uint64_t sum = 0;
    const hg_return_t ret = move(both, id, (move_in_t){origin.bulk, 0, 0, origin.bytes, 0, 1}, &sum);
    CHECK(ret == HG_CANCELED || ret == HG_SUCCESS);
    free_origin(&origin);
}

/* The slot of a transfer is reused again and again. */
static void cancels_late(struct both_sides* both, hg_id_t id) {
    struct origin origin;
    uint64_t sum = 0;
    make_origin(both, &origin, 1, 1000000, HG_BULK_READ_ONLY);
    CHECK_OK(move(both, id, (move_in_t){origin.bulk, 0, 0, 1, 0, 0}, &sum));
    cancel_instead = last_id;
    for (int uses = 1; uses <= 300; ++uses) {
        const uint8_t cancel = uses == 64 || uses == 256;
        CHECK_OK(move(both, id, (move_in_t){origin.bulk, 0, 0, cancel ? origin.bytes : 1, 0, cancel}, &sum));
        CHECK(last_id != cancel_instead);
    }
    cancel_instead = HG_OP_ID_NULL;
    free_origin(&origin);
}

static void null_handles(struct both_sides* both) {
    char bytes[64];
    hg_proc_t proc = HG_PROC_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    CHECK_OK(hg_proc_create_set(both->client.hg_class, bytes, sizeof bytes, HG_ENCODE, HG_NOHASH, &proc));
    CHECK_OK(hg_proc_hg_bulk_t(proc, &bulk));
    CHECK(hg_proc_get_size_used(proc) == 8);
    CHECK_OK(hg_proc_reset(proc, bytes, sizeof bytes, HG_DECODE));
    bulk = (hg_bulk_t)bytes;
    CHECK_OK(hg_proc_hg_bulk_t(proc, &bulk));
    CHECK(bulk == HG_BULK_NULL);
    CHECK_OK(hg_proc_free(proc));
    CHECK_OK(HG_Bulk_free(HG_BULK_NULL));
}

/* At the class that serialized it, a description gives access to the memory itself while the handle exists. */
static void comes_back(struct both_sides* both, struct origin* origin, char* text, hg_size_t bytes) {
    void* buffer = NULL;
    hg_size_t size = 0;
    uint32_t count = 0;
    hg_bulk_t same = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_deserialize(both->client.hg_class, &same, text, bytes));
    CHECK_OK(HG_Bulk_access(same, 1500, 100, HG_BULK_READ_ONLY, 1, &buffer, &size, &count));
    CHECK(count == 1 && size == 100 && buffer == origin->memory + 1500);
    CHECK_OK(HG_Bulk_free(same));
    text[14] ^= 1; /* without the right secret it is taken for memory of a peer */
    CHECK_OK(HG_Bulk_deserialize(both->client.hg_class, &same, text, bytes));
    CHECK_RET(HG_Bulk_access(same, 0, 100, HG_BULK_READ_ONLY, 1, &buffer, &size, &count), HG_OPNOTSUPPORTED);
    CHECK_OK(HG_Bulk_free(same));
    text[14] ^= 1;
}

/* Serialized by hand, transferred between handles of one process, and accessed. */
static void describes(struct both_sides* both) {
    struct origin origin;
    make_origin(both, &origin, 4, 1000, HG_BULK_READ_ONLY);
    const hg_size_t bytes = HG_Bulk_get_serialize_size(origin.bulk, 0);
    CHECK(bytes != 0);
    char* text = malloc(bytes);
    CHECK(text != NULL);
    CHECK_RET(HG_Bulk_serialize(text, bytes - 1, 0, origin.bulk), HG_OVERFLOW);
    CHECK_OK(HG_Bulk_serialize(text, bytes, 0, origin.bulk));
    hg_bulk_t copy = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_deserialize(both->server.hg_class, &copy, text, bytes));
    CHECK(HG_Bulk_get_size(copy) == 4000 && HG_Bulk_get_segment_count(copy) == 4);
    void* buffers[8];
    hg_size_t sizes[8];
    uint32_t count = 0;
    if (both->client.hg_class != both->server.hg_class) {
        CHECK_RET(HG_Bulk_access(copy, 0, 4000, HG_BULK_READ_ONLY, 8, buffers, sizes, &count), HG_OPNOTSUPPORTED);
    }
    CHECK_OK(HG_Bulk_free(copy));
    comes_back(both, &origin, text, bytes);
    HG_Set_log_level("none");
    for (hg_size_t cut = 0; cut < bytes; ++cut) {
        CHECK(HG_Bulk_deserialize(both->server.hg_class, &copy, text, cut) == HG_PROTOCOL_ERROR);
    }
    for (hg_size_t at = 0; at < bytes; ++at) { /* refused, or a handle that refers to nothing: never more */
        text[at] ^= 0x5a;
        if (HG_Bulk_deserialize(both->server.hg_class, &copy, text, bytes) == HG_SUCCESS) CHECK_OK(HG_Bulk_free(copy));
        text[at] ^= 0x5a;
    }
    HG_Set_log_level("warning");
    CHECK_OK(HG_Bulk_access(origin.bulk, 1500, 2000, HG_BULK_READ_ONLY, 8, buffers, sizes, &count));
    CHECK(count == 3 && sizes[0] == 500 && sizes[1] == 1000 && sizes[2] == 500);
    CHECK(buffers[0] == origin.memory + 1500);

    const hg_size_t own = 4000;
    hg_bulk_t allocated = HG_BULK_NULL;
    CHECK_OK(HG_Bulk_create(both->client.hg_class, 1, NULL, &own, HG_BULK_READWRITE, &allocated));
    struct told told = {0, HG_OTHER_ERROR};
    CHECK_OK(HG_Bulk_transfer(both->client.context, note, &told, HG_BULK_PULL, both->to, origin.bulk, 0, allocated, 0,
                              own, HG_OP_ID_IGNORE));
    pump_until(both, &told.count, 1);
    CHECK(told.ret == HG_SUCCESS);
    CHECK_OK(HG_Bulk_access(allocated, 0, own, HG_BULK_READWRITE, 8, buffers, sizes, &count));
    CHECK(count == 1 && memcmp(buffers[0], origin.memory, own) == 0);
    CHECK_REFUSED(HG_Finalize(both->client.hg_class), HG_BUSY);
    CHECK_OK(HG_Bulk_free(allocated));
    free(text);
    free_origin(&origin);
}

static void refuses(struct both_sides* both) {
    char byte = 0;
    void* buffer = &byte;
    const hg_size_t one = 1;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_class_t* hg_class = both->client.hg_class;
    const struct hg_bulk_attr device = {HG_MEM_TYPE_ROCM, 0};
    CHECK_RET(HG_Bulk_create(hg_class, 0, &buffer, &one, HG_BULK_READ_ONLY, &bulk), HG_INVALID_ARG);
    CHECK_RET(HG_Bulk_create(hg_class, 1, &buffer, &one, 0, &bulk), HG_INVALID_ARG);
    CHECK_REFUSED(HG_Bulk_create_attr(hg_class, 1, &buffer, &one, HG_BULK_READ_ONLY, &device, &bulk),
                  HG_OPNOTSUPPORTED);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    const hg_id_t id = MERCURY_REGISTER(both.server.hg_class, "move", move_in_t, move_out_t, serve_move);
    if (both.client.hg_class != both.server.hg_class) {
        CHECK(MERCURY_REGISTER(both.client.hg_class, "move", move_in_t, move_out_t, NULL) == id);
    }
    pulls(&both, id, 1, 16); /* sent with the handle */
    pulls(&both, id, 1, 1000000);
    pulls(&both, id, 16, 4096);
    pulls(&both, id, 1024, 100);
    pushes(&both, id, 1, 1000000);
    pushes(&both, id, 300, 333);
    binds(&both, id);
    cancels(&both, id);
    cancels_late(&both, id);
    null_handles(&both);
    describes(&both);
    refuses(&both);
    close_both_sides(&both);
    return 0;
}
