/* SPDX-License-Identifier: BSD-3-Clause
 * RPCs without a response, forwarded by a program that then frees everything at once: the server, which is another
 * process, handles each of them. */
#include "both_sides.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { rounds = 20, calls_each = 100 };

/* Shared by both processes. */
struct board {
    volatile int notes;
    char address[256];
};
static struct board* board;

static hg_return_t serve_note(hg_handle_t handle) {
    ++board->notes;
    return HG_Destroy(handle);
}
static hg_return_t serve_hello(hg_handle_t handle) {
    CHECK_OK(HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

static void register_all(hg_class_t* hg_class, hg_id_t* note_id, hg_id_t* hello) {
    *note_id = HG_Register_name(hg_class, "note", NULL, NULL, serve_note);
    *hello = HG_Register_name(hg_class, "hello", NULL, NULL, serve_hello);
    CHECK(*note_id != 0 && *hello != 0);
    CHECK_OK(HG_Registered_disable_response(hg_class, *note_id, HG_TRUE));
}

/* Serves until it is killed. */
static pid_t start_server(const char* info_string) {
    int ends[2];
    char ready = 0;
    CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        hg_class_t* hg_class = HG_Init(info_string, HG_TRUE);
        CHECK(hg_class != NULL);
        hg_context_t* context = HG_Context_create(hg_class);
        hg_id_t note_id = 0;
        hg_id_t hello = 0;
        register_all(hg_class, &note_id, &hello);
        hg_addr_t self = HG_ADDR_NULL;
        hg_size_t bytes = sizeof board->address;
        CHECK_OK(HG_Addr_self(hg_class, &self));
        CHECK_OK(HG_Addr_to_string(hg_class, board->address, &bytes, self));
        CHECK(write(ends[1], &ready, 1) == 1);
        for (;;) {
            (void)HG_Progress(context, 1000);
            (void)HG_Trigger(context, 0, 256, NULL);
        }
    }
    close(ends[1]);
    CHECK(read(ends[0], &ready, 1) == 1);
    close(ends[0]);
    return pid;
}

static void drive(struct side* side, const int* flag, int wanted) {
    const double end = now_ms() + 20e3;
    while (*flag < wanted && now_ms() < end) {
        (void)HG_Progress(side->context, 100);
        (void)HG_Trigger(side->context, 0, 256, NULL);
    }
    CHECK(*flag >= wanted);
}

enum manner { fresh, warm, awaited };

/* Everything from HG_Init to HG_Finalize, with `count` calls. */
static void visit(const char* info_string, enum manner manner, int count) {
    struct side side;
    side.hg_class = HG_Init(info_string, HG_FALSE);
    CHECK(side.hg_class != NULL);
    side.context = HG_Context_create(side.hg_class);
    hg_id_t note_id = 0;
    hg_id_t hello = 0;
    register_all(side.hg_class, &note_id, &hello);
    hg_addr_t to = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_lookup2(side.hg_class, board->address, &to));
    hg_handle_t handle = HG_HANDLE_NULL;
    if (manner != fresh) {
        struct told told = {0, HG_OTHER_ERROR};
        CHECK_OK(HG_Create(side.context, to, hello, &handle));
        CHECK_OK(HG_Forward(handle, note, &told, NULL));
        drive(&side, &told.count, 1);
        CHECK_RET(told.ret, HG_SUCCESS);
        CHECK_OK(HG_Destroy(handle));
    }
    struct told sent = {0, HG_OTHER_ERROR};
    for (int i = 0; i < count; ++i) {
        CHECK_OK(HG_Create(side.context, to, note_id, &handle));
        CHECK_OK(HG_Forward(handle, note, &sent, NULL));
        CHECK_OK(HG_Destroy(handle));
    }
    if (manner == awaited) drive(&side, &sent.count, count);
    CHECK_OK(HG_Addr_free(side.hg_class, to));
    CHECK_OK(HG_Context_destroy(side.context));
    CHECK(sent.count == count);
    CHECK_RET(sent.ret, HG_SUCCESS);
    CHECK_OK(HG_Finalize(side.hg_class));
}

static void visits(const char* transport, enum manner manner, int count) {
    board->notes = 0;
    for (int i = 0; i < rounds; ++i) visit(init_string(transport, false), manner, count);
    const double end = now_ms() + 10e3;
    while (board->notes < rounds * count && now_ms() < end) (void)sched_yield();
    if (board->notes != rounds * count) {
        (void)fprintf(stderr, "manner %d: %d of %d arrived\n", (int)manner, board->notes, rounds * count);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(board != MAP_FAILED);
    const pid_t server = start_server(init_string(argv[1], true));
    visits(argv[1], fresh, 1);
    visits(argv[1], warm, calls_each);
    visits(argv[1], awaited, 1);
    int status = 0;
    CHECK(kill(server, SIGKILL) == 0);
    CHECK(waitpid(server, &status, 0) == server);
    return 0;
}
