/* SPDX-License-Identifier: BSD-3-Clause
 * The options of HG_Init_opt2 that have an effect here, NA classes that are passed in, and peers on the same host. */
#include "both_sides.h"

#include <string.h>
#include <time.h>

static hg_return_t serve_text(hg_handle_t handle) {
    hg_string_t text = NULL;
    CHECK_OK(HG_Get_input(handle, &text));
    if (HG_Get_info(handle)->hg_class == HG_Context_get_data(HG_Get_info(handle)->context)) {
        void* released = NULL;
        CHECK_RET(HG_Get_input_buf(handle, &released, NULL), HG_FAULT);
    }
    CHECK_OK(HG_Respond(handle, NULL, NULL, &text));
    CHECK_OK(HG_Free_input(handle, &text));
    return HG_Destroy(handle);
}

static hg_return_t send_text(struct both_sides* both, size_t length) {
    hg_id_t id = HG_Register_name(both->client.hg_class, "text", hg_proc_hg_string_t, hg_proc_hg_string_t, serve_text);
    CHECK(HG_Register_name(both->server.hg_class, "text", hg_proc_hg_string_t, hg_proc_hg_string_t, serve_text) == id);
    char* text = malloc(length + 1);
    CHECK(text != NULL);
    memset(text, 'x', length);
    text[length] = '\0';
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both->client.context, both->to, id, &handle));
    struct told told = {0, HG_OTHER_ERROR};
    hg_return_t ret = HG_Forward(handle, note, &told, &text);
    if (ret == HG_SUCCESS) {
        pump_until(both, &told.count, 1);
        ret = told.ret;
    }
    if (ret == HG_SUCCESS) {
        hg_string_t out = NULL;
        CHECK_OK(HG_Get_output(handle, &out));
        CHECK(strcmp(out, text) == 0);
        CHECK_OK(HG_Free_output(handle, &out));
    }
    CHECK_OK(HG_Destroy(handle));
    free(text);
    return ret;
}

static void with(const char* transport, const struct hg_init_info* options, size_t length, hg_return_t expected) {
    struct both_sides both;
    open_both_sides(&both, transport, options);
    if (options->release_input_early) {
        CHECK_OK(HG_Context_set_data(both.server.context, both.server.hg_class, NULL));
    }
    CHECK_RET(send_text(&both, length), expected);
    if (options->na_init_info.max_unexpected_size != 0) {
        CHECK(HG_Class_get_input_eager_size(both.client.hg_class) < options->na_init_info.max_unexpected_size);
    }
    close_both_sides(&both);
}

static double cpu_ms(void) {
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

/* A side that sleeps uses no processor time while it waits. */
static void polls(const char* transport, const struct hg_init_info* options) {
    struct both_sides both;
    open_both_sides(&both, transport, options);
    const double before = cpu_ms();
    CHECK_RET(HG_Progress(both.server.context, 400), HG_TIMEOUT);
    CHECK(cpu_ms() - before > 10); /* others may have the processor for most of that time */
    close_both_sides(&both);
}

static void each_option(const char* transport) {
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    with(transport, &options, 100000, HG_SUCCESS);
    options.no_overflow = true;
    with(transport, &options, 10, HG_SUCCESS);
    with(transport, &options, 100000, HG_OVERFLOW);
    options = HG_INIT_INFO_INITIALIZER;
    options.checksum_level = HG_CHECKSUM_RPC_PAYLOAD;
    with(transport, &options, 5000, HG_SUCCESS);
    options = HG_INIT_INFO_INITIALIZER;
    options.release_input_early = true;
    with(transport, &options, 10, HG_SUCCESS);
    options = HG_INIT_INFO_INITIALIZER;
    options.na_init_info.max_unexpected_size = 2048;
    with(transport, &options, 1000, HG_SUCCESS);
    options = HG_INIT_INFO_INITIALIZER;
    options.na_init_info.progress_mode = NA_NO_BLOCK;
    with(transport, &options, 10, HG_SUCCESS);
    polls(transport, &options);
    options = HG_INIT_INFO_INITIALIZER;
    options.na_init_info.thread_mode = NA_THREAD_MODE_SINGLE;
    with(transport, &options, 10, HG_SUCCESS);
    options = HG_INIT_INFO_INITIALIZER;
    options.auto_sm = true;
    with(transport, &options, 100000, HG_SUCCESS);
}

/* As in Mercury's own tests: an NA class is opened first and passed in. */
static void given_network(const char* info_string) {
    const struct na_init_info network = NA_INIT_INFO_INITIALIZER;
    na_class_t* na_class =
        NA_Initialize_opt2(info_string, true, NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), &network);
    CHECK(na_class != NULL && NA_Is_listening(na_class));
    CHECK(NA_Msg_get_max_unexpected_size(na_class) >= 512 && NA_Msg_get_max_expected_size(na_class) >= 512);
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    options.na_class = na_class;
    hg_class_t* hg_class = HG_Init_opt2(NULL, true, HG_VERSION(2, 4), &options);
    CHECK(hg_class != NULL && HG_Class_is_listening(hg_class));
    CHECK(strcmp(HG_Class_get_name(hg_class), NA_Get_class_name(na_class)) == 0);
    hg_addr_t self = HG_ADDR_NULL;
    na_addr_t* na_self = NULL;
    char text[256];
    char na_text[256];
    hg_size_t bytes = sizeof text;
    size_t na_bytes = sizeof na_text;
    CHECK_OK(HG_Addr_self(hg_class, &self));
    CHECK_OK(HG_Addr_to_string(hg_class, text, &bytes, self));
    CHECK(NA_Addr_self(na_class, &na_self) == NA_SUCCESS && NA_Addr_is_self(na_class, na_self));
    CHECK(NA_Addr_to_string(na_class, na_text, &na_bytes, na_self) == NA_SUCCESS);
    CHECK(strcmp(text, na_text) == 0);
    na_addr_t* found = NULL;
    CHECK(NA_Addr_lookup(na_class, na_text, &found) == NA_SUCCESS && NA_Addr_cmp(na_class, found, na_self));
    HG_Set_log_level("none");
    CHECK(NA_Finalize(na_class) == NA_BUSY);
    HG_Set_log_level("warning");
    NA_Addr_free(na_class, found);
    NA_Addr_free(na_class, na_self);
    CHECK_OK(HG_Addr_free(hg_class, self));
    CHECK_OK(HG_Finalize(hg_class));
    CHECK(NA_Finalize(na_class) == NA_SUCCESS);
}

/* A request that came over the network is answered by a call to another context of its origin: there is no address of
 * that one, and shared memory has smaller messages. */
static int retargeted;
static hg_return_t serve_retargeted(hg_handle_t handle) {
    const struct hg_info* info = HG_Get_info(handle);
    hg_handle_t back = HG_HANDLE_NULL;
    char* bytes = NULL;
    hg_size_t before = 0;
    hg_size_t after = 0;
    CHECK_OK(HG_Create(info->context, info->addr, info->id, &back));
    CHECK_OK(HG_Get_input_buf(back, (void**)&bytes, &before));
    memset(bytes, 'x', before);
    CHECK_OK(HG_Set_target_id(back, 1));
    CHECK_OK(HG_Get_input_buf(back, (void**)&bytes, &after));
    CHECK(after < before && bytes[0] == 'x' && bytes[after - 1] == 'x');
    CHECK_OK(HG_Destroy(back));
    ++retargeted;
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void retargets(void) {
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    options.auto_sm = true;
    options.na_init_info.max_unexpected_size = 8u << 20;
    struct both_sides both;
    both.server.hg_class = HG_Init_opt2(init_string("tcp", true), true, HG_VERSION(2, 4), &options);
    both.client.hg_class = HG_Init(init_string("tcp", false), false);
    CHECK(both.server.hg_class != NULL && both.client.hg_class != NULL);
    both.server.context = HG_Context_create(both.server.hg_class);
    both.client.context = HG_Context_create(both.client.hg_class);
    CHECK(both.server.context != NULL && both.client.context != NULL);
    hg_addr_t self = HG_ADDR_NULL;
    char text[256];
    hg_size_t bytes = sizeof text;
    CHECK_OK(HG_Addr_self(both.server.hg_class, &self));
    CHECK_OK(HG_Addr_to_string(both.server.hg_class, text, &bytes, self));
    CHECK_OK(HG_Addr_free(both.server.hg_class, self));
    CHECK_OK(HG_Addr_lookup2(both.client.hg_class, text, &both.to));
    const hg_id_t id = HG_Register_name(both.server.hg_class, "retargeted", NULL, NULL, serve_retargeted);
    CHECK(HG_Register_name(both.client.hg_class, "retargeted", NULL, NULL, NULL) == id);
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    CHECK_OK(call(&both, handle, NULL));
    CHECK(retargeted == 1);
    CHECK_OK(HG_Destroy(handle));
    close_both_sides(&both);
}

static hg_return_t serve_null(hg_handle_t handle) {
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* A class that does not listen can call itself, too. */
static void calls_itself(const char* info_string) {
    struct both_sides both = {{NULL, NULL}, {NULL, NULL}, HG_ADDR_NULL};
    both.client.hg_class = HG_Init(info_string, HG_FALSE);
    CHECK(both.client.hg_class != NULL);
    both.client.context = HG_Context_create(both.client.hg_class);
    CHECK(both.client.context != NULL);
    both.server = both.client;
    CHECK_OK(HG_Addr_self(both.client.hg_class, &both.to));
    const hg_id_t id = HG_Register_name(both.client.hg_class, "null", NULL, NULL, serve_null);
    hg_handle_t handle = HG_HANDLE_NULL;
    CHECK_OK(HG_Create(both.client.context, both.to, id, &handle));
    CHECK_OK(call(&both, handle, NULL));
    CHECK_OK(HG_Destroy(handle));
    close_both_sides(&both);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    each_option(argv[1]);
    given_network(init_string(argv[1], true));
    calls_itself(init_string(argv[1], false));
    if (strcmp(argv[1], "tcp") == 0) retargets();
    return 0;
}
