/* SPDX-License-Identifier: BSD-3-Clause
 * A stranger that claims, in bytes made by hand, to be the very process it calls: it is not taken for it, nor for
 * another stranger with the same claim. docs/wire-format.md has the bytes. */
#include "both_sides.h"

#include <arpa/inet.h>
#include <mercury_core.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { greeting_bytes = 56, frame_bytes = 16, request_bytes = 32, rpc_id = 77 };

static int served;
static int was_self;
static hg_addr_t sources[3];

static hg_return_t note_source(hg_handle_t handle) {
    const struct hg_info* info = HG_Get_info(handle);
    hg_addr_t self = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(info->hg_class, &self));
    const bool same = HG_Addr_cmp(info->hg_class, self, info->addr) != 0;
    CHECK(HG_Core_addr_is_self((hg_core_addr_t)info->addr) == same);
    CHECK(NA_Addr_is_self(HG_Core_class_get_na((hg_core_class_t*)info->hg_class),
                          HG_Core_addr_get_na((hg_core_addr_t)info->addr)) == same);
    CHECK_OK(HG_Addr_free(info->hg_class, self));
    was_self = same;
    CHECK_OK(HG_Addr_dup(info->hg_class, info->addr, &sources[served]));
    ++served;
    return HG_Destroy(handle);
}

static void put(unsigned char* at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> (8 * i));
}

static int dial(hg_class_t* hg_class, uint64_t claimed) {
    char text[256];
    hg_size_t bytes = sizeof text;
    hg_addr_t self = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(hg_class, &self));
    CHECK_OK(HG_Addr_to_string(hg_class, text, &bytes, self));
    CHECK_OK(HG_Addr_free(hg_class, self));
    struct sockaddr_in where;
    memset(&where, 0, sizeof where);
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr*)&where, sizeof where) == 0);
    unsigned char greeting[greeting_bytes] = {0xc1, 0x4e, 0x42, 0x52, 2, 1};
    put(greeting + 12, 4096, 4);
    put(greeting + 16, claimed, 8);
    put(greeting + 36, 2, 2);
    CHECK(send(fd, greeting, sizeof greeting, 0) == (ssize_t)sizeof greeting);
    return fd;
}

/* Returns the incarnation of the other side: everybody who dials is told it. */
static uint64_t answer_of(struct both_sides* both, int fd) {
    unsigned char greeting[greeting_bytes];
    size_t have = 0;
    for (int i = 0; i < 100000 && have < sizeof greeting; ++i) {
        pump_once(both);
        const ssize_t came = recv(fd, greeting + have, sizeof greeting - have, MSG_DONTWAIT);
        if (came > 0) have += (size_t)came;
    }
    CHECK(have == sizeof greeting && greeting[5] == 2);
    uint64_t incarnation = 0;
    for (int i = 7; i >= 0; --i) incarnation = incarnation << 8 | greeting[16 + i];
    return incarnation;
}

static void call_by_hand(int fd) {
    unsigned char call[frame_bytes + request_bytes] = {1};
    put(call + 4, request_bytes, 4);
    unsigned char* const request = call + frame_bytes;
    request[0] = 1;
    request[1] = 1;
    put(request + 2, 2, 2); /* one-way */
    put(request + 8, rpc_id, 8);
    memset(request + 16, 0xff, 8); /* no deadline */
    CHECK(send(fd, call, sizeof call, 0) == (ssize_t)sizeof call);
}

int main(void) {
    struct both_sides both;
    open_both_sides(&both, "tcp", NULL);
    CHECK_OK(HG_Register(both.server.hg_class, rpc_id, NULL, NULL, note_source));
    const int honest = dial(both.server.hg_class, 4711);
    const uint64_t servers = answer_of(&both, honest);
    const int liar = dial(both.server.hg_class, servers);
    CHECK(answer_of(&both, liar) == servers);
    const int second = dial(both.server.hg_class, servers);
    CHECK(answer_of(&both, second) == servers);
    call_by_hand(liar);
    pump_until(&both, &served, 1);
    CHECK(!was_self);
    call_by_hand(second);
    pump_until(&both, &served, 2);
    CHECK(!was_self);
    call_by_hand(liar);
    pump_until(&both, &served, 3);
    CHECK(!HG_Addr_cmp(both.server.hg_class, sources[0], sources[1]));
    CHECK(HG_Addr_cmp(both.server.hg_class, sources[0], sources[2]));
    for (int i = 0; i < 3; ++i) CHECK_OK(HG_Addr_free(both.server.hg_class, sources[i]));
    close(honest);
    close(liar);
    close(second);
    close_both_sides(&both);
    return 0;
}
