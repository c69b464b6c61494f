/* SPDX-License-Identifier: BSD-3-Clause */
/* mercury_loop SCHEME CALLS IN_FLIGHT: small calls through mercury.h between two classes of one thread, and nothing
 * else. What call_instructions_test counts. The scheme is one of ours: shm, tcp. */
#include <mercury.h>
#include <mercury_proc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct payload {
    char bytes[64];
};

static unsigned long to_start, to_end;

static void require(hg_return_t ret) {
    if (ret != HG_SUCCESS) {
        fprintf(stderr, "%s\n", HG_Error_to_string(ret));
        abort();
    }
}

static hg_return_t proc_payload(hg_proc_t proc, void* data) { return hg_proc_raw(proc, data, sizeof(struct payload)); }

static hg_return_t echo(hg_handle_t handle) {
    struct payload payload;
    require(HG_Get_input(handle, &payload));
    require(HG_Free_input(handle, &payload));
    require(HG_Respond(handle, NULL, NULL, &payload));
    return HG_Destroy(handle);
}

static hg_return_t ended(const struct hg_cb_info* info);

static void start(hg_handle_t handle) {
    struct payload payload;
    --to_start;
    memset(&payload, 1, sizeof payload);
    require(HG_Forward(handle, ended, NULL, &payload));
}

static hg_return_t ended(const struct hg_cb_info* info) {
    struct payload payload;
    require(info->ret);
    require(HG_Get_output(info->info.forward.handle, &payload));
    require(HG_Free_output(info->info.forward.handle, &payload));
    --to_end;
    if (to_start > 0) start(info->info.forward.handle);
    return HG_SUCCESS;
}

struct side {
    hg_class_t* hg_class;
    hg_context_t* context;
    hg_id_t id;
};

static struct side open_side(const char* scheme, hg_bool_t listen) {
    struct side side;
    side.hg_class = HG_Init(scheme, listen);
    if (side.hg_class == NULL) abort();
    side.context = HG_Context_create(side.hg_class);
    if (side.context == NULL) abort();
    side.id = HG_Register_name(side.hg_class, "mercury_loop.echo", proc_payload, proc_payload, echo);
    return side;
}

static void turn(struct side side) {
    unsigned count = 0;
    (void)HG_Progress(side.context, 0);
    (void)HG_Trigger(side.context, 0, 64, &count);
}

int main(int count, char** words) {
    if (count != 4) {
        fprintf(stderr, "mercury_loop SCHEME CALLS IN_FLIGHT\n");
        return 2;
    }
    unsigned long in_flight = strtoul(words[3], NULL, 10);
    to_start = to_end = strtoul(words[2], NULL, 10);
    if (in_flight > to_start) in_flight = to_start;
    const struct side server = open_side(words[1], HG_TRUE);
    const struct side client = open_side(words[1], HG_FALSE);

    char text[256];
    hg_size_t bytes = sizeof text;
    hg_addr_t self = HG_ADDR_NULL, to = HG_ADDR_NULL;
    require(HG_Addr_self(server.hg_class, &self));
    require(HG_Addr_to_string(server.hg_class, text, &bytes, self));
    require(HG_Addr_free(server.hg_class, self));
    require(HG_Addr_lookup2(client.hg_class, text, &to));

    hg_handle_t* const handles = calloc(in_flight, sizeof(hg_handle_t));
    if (handles == NULL) abort();
    for (unsigned long i = 0; i < in_flight; ++i) {
        require(HG_Create(client.context, to, client.id, &handles[i]));
        start(handles[i]);
    }
    while (to_end > 0) {
        turn(client);
        turn(server);
    }
    for (unsigned long i = 0; i < in_flight; ++i) require(HG_Destroy(handles[i]));
    free(handles);
    require(HG_Addr_free(client.hg_class, to));
    return 0;
}
