/* SPDX-License-Identifier: BSD-3-Clause
 * A server that is called by strangers who claim to be that very process: three one-way calls, the first and the last
 * of them over the same connection. Each transport's test makes the bytes. */
#ifndef CINNABAR_TESTS_MERCURY_CLAIMS_H
#define CINNABAR_TESTS_MERCURY_CLAIMS_H

#include "both_sides.h"

enum { claims_rpc_id = 77, claims_request_bytes = 32 };

void open_claims(struct both_sides* both, const char* transport);
/* The server's address; `bytes` has room for all of it. */
void claims_server(const struct both_sides* both, char* text, hg_size_t bytes);
/* Writes the request. */
void make_claims_request(unsigned char* request);
/* The next call arrives, and its source is not taken for the server. */
void expect_stranger(struct both_sides* both);
/* The first two sources are two, the first and the third are one. */
void close_claims(struct both_sides* both);

#endif
