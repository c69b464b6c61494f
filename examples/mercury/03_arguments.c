/* Arguments and a result: structures and their procs come from one macro. */
#include "example.h"

#include <mercury_macros.h>
#include <mercury_proc_string.h>

MERCURY_GEN_PROC(sum_in_t, ((int32_t)(x))((int32_t)(y))((hg_const_string_t)(caller)))
MERCURY_GEN_PROC(sum_out_t, ((int32_t)(sum)))

static hg_id_t sum_id;

static hg_return_t sum(hg_handle_t handle) {
    sum_in_t in;
    REQUIRE(HG_Get_input(handle, &in) == HG_SUCCESS);
    printf("server: %d + %d for %s\n", in.x, in.y, in.caller);
    fflush(stdout);
    sum_out_t out = {in.x + in.y};
    HG_Free_input(handle, &in);
    HG_Respond(handle, NULL, NULL, &out);
    return HG_Destroy(handle);
}

static void registers(struct side* side) { sum_id = MERCURY_REGISTER(side->hg_class, "sum", sum_in_t, sum_out_t, sum); }

static hg_return_t answered(const struct hg_cb_info* info) {
    hg_handle_t handle = info->info.forward.handle;
    sum_out_t out;
    REQUIRE(info->ret == HG_SUCCESS);
    REQUIRE(HG_Get_output(handle, &out) == HG_SUCCESS);
    printf("client: %d\n", out.sum);
    HG_Free_output(handle, &out);
    *(bool*)info->arg = true;
    return HG_SUCCESS;
}

static void client(struct side* side, hg_addr_t server) {
    hg_handle_t handle = HG_HANDLE_NULL;
    bool done = false;
    sum_in_t in = {42, 23, "me"};
    REQUIRE(HG_Create(side->context, server, sum_id, &handle) == HG_SUCCESS);
    /* The arguments are encoded before HG_Forward returns. */
    REQUIRE(HG_Forward(handle, answered, &done, &in) == HG_SUCCESS);
    run_until(side, &done);
    REQUIRE(HG_Destroy(handle) == HG_SUCCESS);
}

int main(int argc, char** argv) { return run_both(argc > 1 ? argv[1] : "ofi+tcp://127.0.0.1", registers, client); }
