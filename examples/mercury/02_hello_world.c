/* A call without arguments and without a result. */
#include "example.h"

static hg_id_t hello_id;

/* Runs at the server, in HG_Trigger. */
static hg_return_t hello(hg_handle_t handle) {
    printf("server: Hello World!\n");
    fflush(stdout);
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static void registers(struct side* side) { hello_id = HG_Register_name(side->hg_class, "hello", NULL, NULL, hello); }

/* Runs at the client, in HG_Trigger, once for each HG_Forward. */
static hg_return_t answered(const struct hg_cb_info* info) {
    printf("client: %s\n", HG_Error_to_string(info->ret));
    *(bool*)info->arg = true;
    return HG_SUCCESS;
}

static void client(struct side* side, hg_addr_t server) {
    hg_handle_t handle = HG_HANDLE_NULL;
    REQUIRE(HG_Create(side->context, server, hello_id, &handle) == HG_SUCCESS);
    for (int i = 0; i < 3; ++i) {
        bool done = false;
        REQUIRE(HG_Forward(handle, answered, &done, NULL) == HG_SUCCESS);
        run_until(side, &done);
        fflush(stdout);
    }
    REQUIRE(HG_Destroy(handle) == HG_SUCCESS);
}

int main(int argc, char** argv) { return run_both(argc > 1 ? argv[1] : "ofi+tcp://127.0.0.1", registers, client); }
