#include "example.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { address_bytes_max = 256 };

static bool shut_down;

static hg_return_t serve_shutdown(hg_handle_t handle) {
    shut_down = true;
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static void open_side(struct side* side, const char* info_string, bool listen, register_function registers) {
    side->hg_class = HG_Init(info_string, listen);
    REQUIRE(side->hg_class);
    side->context = HG_Context_create(side->hg_class);
    REQUIRE(side->context);
    REQUIRE(HG_Register_name(side->hg_class, "shutdown", NULL, NULL, serve_shutdown) != 0);
    registers(side);
}

static void close_side(struct side* side) {
    REQUIRE(HG_Context_destroy(side->context) == HG_SUCCESS);
    REQUIRE(HG_Finalize(side->hg_class) == HG_SUCCESS);
}

void run_until(struct side* side, const bool* done) {
    while (!*done) {
        unsigned int count = 0;
        (void)HG_Progress(side->context, 100);
        while (HG_Trigger(side->context, 0, 16, &count) == HG_SUCCESS && count > 0) {
        }
    }
}

static void serve(const char* info_string, register_function registers, int pipe_end) {
    struct side side;
    open_side(&side, info_string, true, registers);
    hg_addr_t self = HG_ADDR_NULL;
    char address[address_bytes_max] = "";
    hg_size_t bytes = sizeof address;
    REQUIRE(HG_Addr_self(side.hg_class, &self) == HG_SUCCESS);
    REQUIRE(HG_Addr_to_string(side.hg_class, address, &bytes, self) == HG_SUCCESS);
    REQUIRE(HG_Addr_free(side.hg_class, self) == HG_SUCCESS);
    REQUIRE(write(pipe_end, address, sizeof address) == sizeof address);
    run_until(&side, &shut_down);
    /* Sends the answer to the shutdown, which may not have left yet. */
    while (HG_Progress(side.context, 100) == HG_SUCCESS) (void)HG_Trigger(side.context, 0, 16, NULL);
    close_side(&side);
    exit(0);
}

static hg_return_t set_done(const struct hg_cb_info* info) {
    *(bool*)info->arg = true;
    return info->ret;
}

static void tell_to_shut_down(struct side* side, hg_addr_t server) {
    hg_id_t id = 0;
    uint8_t known = HG_FALSE;
    hg_handle_t handle = HG_HANDLE_NULL;
    bool done = false;
    REQUIRE(HG_Registered_name(side->hg_class, "shutdown", &id, &known) == HG_SUCCESS && known);
    REQUIRE(HG_Create(side->context, server, id, &handle) == HG_SUCCESS);
    REQUIRE(HG_Forward(handle, set_done, &done, NULL) == HG_SUCCESS);
    run_until(side, &done);
    REQUIRE(HG_Destroy(handle) == HG_SUCCESS);
}

int run_both(const char* info_string, register_function registers, client_function client) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) serve(info_string, registers, ends[1]);

    char address[address_bytes_max];
    close(ends[1]);
    REQUIRE(read(ends[0], address, sizeof address) == sizeof address);
    close(ends[0]);
    /* A client needs only the protocol: "ofi+tcp" of "ofi+tcp://127.0.0.1:5000". */
    char protocol[address_bytes_max];
    const size_t length = strcspn(address, ":");
    memcpy(protocol, address, length);
    protocol[length] = '\0';

    struct side side;
    hg_addr_t server = HG_ADDR_NULL;
    open_side(&side, protocol, false, registers);
    REQUIRE(HG_Addr_lookup2(side.hg_class, address, &server) == HG_SUCCESS);
    client(&side, server);
    tell_to_shut_down(&side, server);
    REQUIRE(HG_Addr_free(side.hg_class, server) == HG_SUCCESS);
    close_side(&side);

    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}
