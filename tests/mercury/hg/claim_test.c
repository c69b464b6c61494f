/* SPDX-License-Identifier: BSD-3-Clause
 * A stranger claims, in hand-made bytes, to be the very process that it calls. It is taken neither for that process nor
 * for another stranger with the same claim. docs/wire-format.md describes the bytes. */
#include "claims.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { greeting_bytes = 56, frame_bytes = 16 };

static void put(unsigned char* at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> (8 * i));
}

static int dial(const struct both_sides* both, uint64_t claimed) {
    char text[256];
    claims_server(both, text, sizeof text);
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

/* Returns the incarnation of the other side, which every process that dials learns. */
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

static void call_by_hand(struct both_sides* both, int fd) {
    unsigned char call[frame_bytes + claims_request_bytes] = {1};
    put(call + 4, claims_request_bytes, 4);
    make_claims_request(call + frame_bytes);
    CHECK(send(fd, call, sizeof call, 0) == (ssize_t)sizeof call);
    expect_stranger(both);
}

int main(void) {
    struct both_sides both;
    open_claims(&both, "tcp");
    const int honest = dial(&both, 4711);
    const uint64_t servers = answer_of(&both, honest);
    const int liar = dial(&both, servers);
    CHECK(answer_of(&both, liar) == servers);
    const int second = dial(&both, servers);
    CHECK(answer_of(&both, second) == servers);
    call_by_hand(&both, liar);
    call_by_hand(&both, second);
    call_by_hand(&both, liar);
    close_claims(&both);
    close(honest);
    close(liar);
    close(second);
    return 0;
}
