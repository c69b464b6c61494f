/* SPDX-License-Identifier: BSD-3-Clause
 * A server that is called by strangers which claim to be that very process: three one-way calls, the first and the
 * third one over the same connection. The test of each transport makes the bytes. */
#ifndef CINNABAR_TESTS_MERCURY_CLAIMS_H
#define CINNABAR_TESTS_MERCURY_CLAIMS_H

#include "both_sides.h"

enum { claims_rpc_id = 77, claims_request_bytes = 32 };

void open_claims(struct both_sides* both, const char* transport);
/* Writes the server's address to `text`, which has room for `bytes` bytes. */
void claims_server(const struct both_sides* both, char* text, hg_size_t bytes);
/* Writes the request. */
void make_claims_request(unsigned char* request);
/* Waits for the next call, and checks that its source is not taken for the server. */
void expect_stranger(struct both_sides* both);
/* Checks that the first two sources differ, and that the first and the third one are the same. */
void close_claims(struct both_sides* both);

#endif
