/* SPDX-License-Identifier: BSD-3-Clause
 * Procs: round trips of every type, growth, hostile bytes, raw windows, strings; and the raw buffers of handles. */
#include "both_sides.h"

#include <stdlib.h>
#include <string.h>

MERCURY_GEN_PROC(numbers_t,
                 ((int8_t)(a))((uint8_t)(b))((int16_t)(c))((uint16_t)(d))((int32_t)(e))((uint32_t)(f))((int64_t)(g))(
                     (uint64_t)(h))((hg_size_t)(i))((hg_id_t)(j))((hg_bool_t)(k))((hg_ptr_t)(l))((hg_uint32_t)(m)))
MERCURY_GEN_PROC(strings_t, ((hg_string_t)(text))((hg_const_string_t)(fixed))((hg_string_t)(none)))

typedef struct {
    uint64_t cookie;
} mine_t;
MERCURY_GEN_STRUCT_PROC(mine_t, ((uint64_t)(cookie)))
MERCURY_GEN_PROC(nested_t, ((mine_t)(mine))((numbers_t)(numbers)))

static hg_proc_t proc_over(hg_class_t* hg_class, void* bytes, hg_size_t size, hg_proc_op_t op) {
    hg_proc_t proc = HG_PROC_NULL;
    CHECK_OK(hg_proc_create_set(hg_class, bytes, size, op, HG_NOHASH, &proc));
    CHECK(hg_proc_get_class(proc) == hg_class && hg_proc_get_op(proc) == op);
    return proc;
}

static void numbers(hg_class_t* hg_class) {
    char bytes[256];
    const nested_t in = {{42}, {-1, 2, -300, 40000, -5, 6, -7, 8, 9, 0x123456789a, 1, 12, 13}};
    nested_t out;
    memset(&out, 0, sizeof out);
    hg_proc_t proc = proc_over(hg_class, bytes, sizeof bytes, HG_ENCODE);
    CHECK_OK(hg_proc_nested_t(proc, (void*)&in));
    const hg_size_t used = hg_proc_get_size_used(proc);
    CHECK(used == 8 + 2 + 4 + 8 + 16 + 8 + 8 + 1 + 8 + 4); /* packed */
    CHECK(hg_proc_get_size_left(proc) == sizeof bytes - used && hg_proc_get_size(proc) == sizeof bytes);
    CHECK_OK(hg_proc_flush(proc));
    CHECK_OK(hg_proc_reset(proc, bytes, used, HG_DECODE));
    CHECK_OK(hg_proc_nested_t(proc, &out));
    CHECK(out.mine.cookie == 42 && out.numbers.a == -1 && out.numbers.c == -300 && out.numbers.d == 40000);
    CHECK(out.numbers.g == -7 && out.numbers.j == 0x123456789a && out.numbers.m == 13);
    for (hg_size_t cut = 0; cut < used; ++cut) {
        CHECK_OK(hg_proc_reset(proc, bytes, cut, HG_DECODE));
        CHECK_RET(hg_proc_nested_t(proc, &out), HG_OVERFLOW);
    }
    CHECK_OK(hg_proc_free(proc));
}

static void grows(hg_class_t* hg_class) {
    char little[16];
    hg_proc_t proc = proc_over(hg_class, little, sizeof little, HG_ENCODE);
    for (uint64_t i = 0; i < 10000; ++i) CHECK_OK(hg_proc_uint64_t(proc, &i));
    CHECK(hg_proc_get_size_used(proc) == 80000 && hg_proc_get_extra_buf(proc) != NULL);
    char* bytes = hg_proc_get_extra_buf(proc);
    CHECK(hg_proc_get_extra_size(proc) >= 80000);
    CHECK_OK(hg_proc_set_extra_buf_is_mine(proc, HG_TRUE)); /* takes the buffer over */
    CHECK_OK(hg_proc_reset(proc, bytes, 80000, HG_DECODE));
    for (uint64_t i = 0; i < 10000; ++i) {
        uint64_t value = 0;
        CHECK_OK(hg_proc_uint64_t(proc, &value));
        CHECK(value == i);
    }
    CHECK_RET(hg_proc_set_size(proc, 80001), HG_OVERFLOW);
    CHECK_OK(hg_proc_free(proc));
    free(bytes);
}

static void windows(hg_class_t* hg_class) {
    char bytes[8];
    hg_proc_t proc = proc_over(hg_class, bytes, sizeof bytes, HG_ENCODE);
    char* window = hg_proc_save_ptr(proc, 100); /* more than there is */
    CHECK(window != NULL);
    memset(window, 'w', 100);
    CHECK_OK(hg_proc_restore_ptr(proc, window, 100));
    CHECK(hg_proc_get_size_used(proc) == 100);
    char copy[100];
    memcpy(copy, hg_proc_get_extra_buf(proc), sizeof copy);
    CHECK_OK(hg_proc_reset(proc, copy, sizeof copy, HG_DECODE));
    CHECK(hg_proc_save_ptr(proc, 101) == NULL);
    CHECK(hg_proc_save_ptr(proc, 100) == copy);
    hg_proc_set_flags(proc, HG_PROC_BULK_EAGER);
    CHECK(hg_proc_get_flags(proc) == HG_PROC_BULK_EAGER);
    CHECK_OK(hg_proc_reset(proc, NULL, 0, HG_FREE));
    CHECK(hg_proc_get_flags(proc) == 0);
    CHECK(hg_proc_save_ptr(proc, 1) == NULL);
    CHECK_OK(hg_proc_free(proc));
}

static void strings(hg_class_t* hg_class) {
    char bytes[256];
    char text[] = "a text";
    strings_t in = {text, "fixed", NULL};
    strings_t out;
    hg_proc_t proc = proc_over(hg_class, bytes, sizeof bytes, HG_ENCODE);
    CHECK_OK(hg_proc_strings_t(proc, &in));
    const hg_size_t used = hg_proc_get_size_used(proc);
    CHECK(used == (8 + 7 + 2) + (8 + 6 + 2) + 8);
    CHECK_OK(hg_proc_reset(proc, bytes, used, HG_DECODE));
    CHECK_OK(hg_proc_strings_t(proc, &out));
    CHECK(strcmp(out.text, text) == 0 && strcmp(out.fixed, "fixed") == 0 && out.none == NULL);
    CHECK_OK(hg_proc_reset(proc, NULL, 0, HG_FREE));
    CHECK_OK(hg_proc_strings_t(proc, &out));
    CHECK(out.text == NULL && out.fixed == NULL);
    /* Unterminated, and longer than the received bytes. */
    bytes[8 + 6] = '!';
    CHECK_OK(hg_proc_reset(proc, bytes, used, HG_DECODE));
    CHECK_RET(hg_proc_hg_string_t(proc, &out.text), HG_PROTOCOL_ERROR);
    memset(bytes, 0xff, 8);
    CHECK_OK(hg_proc_reset(proc, bytes, used, HG_DECODE));
    CHECK_RET(hg_proc_hg_string_t(proc, &out.text), HG_OVERFLOW);
    CHECK_OK(hg_proc_free(proc));
}

static void string_objects(void) {
    char text[] = "text";
    hg_string_object_t object;
    hg_string_object_t copy;
    CHECK_OK(hg_string_object_init(&object));
    CHECK(object.data == NULL);
    CHECK_OK(hg_string_object_init_const_char(&object, "constant", 0));
    CHECK(object.is_const && !object.is_owned);
    CHECK_OK(hg_string_object_init_char(&object, text, 0));
    CHECK_OK(hg_string_object_dup(object, &copy));
    CHECK(copy.data != text && strcmp(copy.data, text) == 0 && copy.is_owned);
    char* swapped = hg_string_object_swap(&copy, text);
    CHECK(strcmp(swapped, "text") == 0 && copy.data == text && !copy.is_owned);
    free(swapped);
    CHECK_OK(hg_string_object_free(&copy));
    CHECK_OK(hg_string_object_free(&object));
}

/* Raw bytes before the arguments, and without any proc. */
static hg_return_t serve_raw(hg_handle_t handle) {
    char* in = NULL;
    char* out = NULL;
    hg_size_t in_bytes = 0;
    hg_size_t out_bytes = 0;
    uint64_t value = 0;
    CHECK_OK(HG_Get_input_buf(handle, (void**)&in, &in_bytes));
    CHECK(memcmp(in, "head", 4) == 0 && in_bytes >= 12);
    const size_t size = HG_Get_input_payload_size(handle);
    CHECK(size == in_bytes - 4);
    void* extra = in;
    hg_size_t extra_bytes = 0;
    CHECK_OK(HG_Get_input_extra_buf(handle, &extra, &extra_bytes));
    const bool large = in_bytes > HG_Class_get_input_eager_size(HG_Get_info(handle)->hg_class);
    CHECK((extra != NULL) == large && (!large || extra_bytes == size));
    if (!large) {
        CHECK_OK(HG_Get_input(handle, &value));
        CHECK(value == 4711);
        CHECK_OK(HG_Free_input(handle, &value));
    }
    CHECK_OK(HG_Release_input_buf(handle));
    CHECK_RET(HG_Get_input_buf(handle, (void**)&in, NULL), HG_FAULT);
    CHECK_OK(HG_Get_output_buf(handle, (void**)&out, &out_bytes));
    CHECK(out_bytes >= 8);
    memcpy(out, "tail", 4);
    value = 42;
    CHECK_OK(HG_Respond(handle, NULL, NULL, &value));
    return HG_Destroy(handle);
}

static hg_return_t proc_large(hg_proc_t proc, void* data) {
    static char bytes[100000];
    (void)data;
    return hg_proc_raw(proc, bytes, sizeof bytes);
}

static void raw(struct both_sides* both) {
    struct side* sides[] = {&both->server, &both->client};
    hg_id_t id = 0;
    hg_id_t large = 0;
    for (int i = 0; i < 2; ++i) {
        hg_class_t* hg_class = sides[i]->hg_class;
        CHECK_OK(HG_Class_set_input_offset(hg_class, 4));
        CHECK_OK(HG_Class_set_output_offset(hg_class, 4));
        CHECK_RET(HG_Class_set_input_offset(hg_class, 1 << 30), HG_INVALID_ARG);
        id = MERCURY_REGISTER(hg_class, "raw", uint64_t, uint64_t, serve_raw);
        large = HG_Register_name(hg_class, "large", proc_large, hg_proc_uint64_t, serve_raw);
    }
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    uint64_t value = 4711;
    for (int i = 0; i < 2; ++i) {
        char* head = NULL;
        hg_size_t size = 0;
        CHECK_OK(HG_Get_input_buf(handle, (void**)&head, &size));
        CHECK(size == HG_Class_get_input_eager_size(both->client.hg_class));
        memcpy(head, "head", 4);
        CHECK_OK(HG_Set_target_id(handle, 1)); /* the bytes that were written are kept */
        CHECK_OK(HG_Set_target_id(handle, 0));
        CHECK_OK(call(both, handle, &value));
        CHECK(HG_Get_output_payload_size(handle) == 8);
        CHECK_OK(HG_Get_output_buf(handle, (void**)&head, &size));
        CHECK(size == 12 && memcmp(head, "tail", 4) == 0);
        uint64_t out = 0;
        CHECK_OK(HG_Get_output(handle, &out));
        CHECK(out == 42);
        CHECK_OK(HG_Free_output(handle, &out));
        void* extra = head;
        CHECK_OK(HG_Get_output_extra_buf(handle, &extra, NULL));
        CHECK(extra == NULL);
        CHECK_OK(HG_Reset(handle, both->to, large)); /* again, with data that do not fit in a message */
        CHECK_RET(HG_Get_output_buf(handle, (void**)&head, &size), HG_FAULT);
    }
    CHECK_OK(HG_Destroy(handle));
}

/* A proc that returns a pointer into the arguments, and a handler that uses it after it has returned. */
enum { window_bytes = 100 };
static hg_return_t proc_window(hg_proc_t proc, void* data) {
    uint8_t first = 7; /* read before the window, so that the window does not begin where the bytes do */
    CHECK_OK(hg_proc_uint8_t(proc, &first));
    char** window = data;
    if (hg_proc_get_op(proc) == HG_FREE) return HG_SUCCESS;
    char* at = hg_proc_save_ptr(proc, window_bytes);
    CHECK(at != NULL);
    if (hg_proc_get_op(proc) == HG_ENCODE) {
        memcpy(at, *window, window_bytes);
    } else {
        *window = at;
    }
    CHECK_OK(hg_proc_restore_ptr(proc, at, window_bytes));
    uint8_t last = 9;
    CHECK_OK(hg_proc_uint8_t(proc, &last));
    CHECK(first == 7 && last == 9);
    return HG_SUCCESS;
}

static hg_handle_t kept_handle[2];
static char* kept_window[2];
static int kept_count;
static hg_return_t serve_window(hg_handle_t handle) {
    char* window = NULL;
    CHECK_OK(HG_Get_input(handle, &window));
    kept_handle[kept_count] = handle;
    kept_window[kept_count++] = window;
    return HG_SUCCESS;
}

static void kept_windows(struct both_sides* both) {
    struct side* sides[] = {&both->server, &both->client};
    hg_id_t id = 0;
    for (int i = 0; i < 2; ++i) {
        id = HG_Register_name(sides[i]->hg_class, "window", proc_window, NULL, serve_window);
    }
    struct told told[2];
    hg_handle_t handles[2];
    for (int i = 0; i < 2; ++i) {
        char bytes[window_bytes];
        char* window = bytes;
        memset(bytes, 'a' + i, sizeof bytes);
        told[i] = (struct told){0, HG_OTHER_ERROR};
        CHECK_OK(HG_Create(both->client.context, both->to, id, &handles[i]));
        CHECK_OK(HG_Forward(handles[i], note, &told[i], &window));
        pump_until(both, &kept_count, i + 1);
    }
    for (int i = 0; i < 2; ++i) {
        for (int at = 0; at < window_bytes; ++at) CHECK(kept_window[i][at] == 'a' + i);
        CHECK_OK(HG_Respond(kept_handle[i], NULL, NULL, NULL));
        CHECK_OK(HG_Free_input(kept_handle[i], &kept_window[i]));
        CHECK_OK(HG_Destroy(kept_handle[i]));
        pump_until(both, &told[i].count, 1);
        CHECK_OK(told[i].ret);
        CHECK_OK(HG_Destroy(handles[i]));
    }
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    struct both_sides both;
    open_both_sides(&both, argv[1], NULL);
    numbers(both.client.hg_class);
    grows(both.client.hg_class);
    windows(both.client.hg_class);
    strings(both.client.hg_class);
    string_objects();
    kept_windows(&both);
    raw(&both);
    close_both_sides(&both);
    return 0;
}
