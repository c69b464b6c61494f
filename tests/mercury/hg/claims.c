/* SPDX-License-Identifier: BSD-3-Clause */
#include "claims.h"

#include <mercury_core.h>
#include <string.h>

static int served;
static bool was_self;
static hg_addr_t sources[3];

static hg_return_t note_source(hg_handle_t handle) {
    const struct hg_info* info = HG_Get_info(handle);
    hg_addr_t self = HG_ADDR_NULL;
    CHECK(served < 3);
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

void open_claims(struct both_sides* both, const char* transport) {
    open_both_sides(both, transport, NULL);
    CHECK_OK(HG_Register(both->server.hg_class, claims_rpc_id, NULL, NULL, note_source));
}

void claims_server(const struct both_sides* both, char* text, hg_size_t bytes) {
    hg_addr_t self = HG_ADDR_NULL;
    CHECK_OK(HG_Addr_self(both->server.hg_class, &self));
    CHECK_OK(HG_Addr_to_string(both->server.hg_class, text, &bytes, self));
    CHECK_OK(HG_Addr_free(both->server.hg_class, self));
}

void make_claims_request(unsigned char* request) {
    memset(request, 0, claims_request_bytes);
    request[0] = 1;
    request[1] = 1;
    request[2] = 2; /* one-way */
    request[8] = claims_rpc_id;
    memset(request + 16, 0xff, 8); /* no deadline */
}

void expect_stranger(struct both_sides* both) {
    pump_until(both, &served, served + 1);
    CHECK(!was_self);
}

void close_claims(struct both_sides* both) {
    CHECK(served == 3);
    CHECK(!HG_Addr_cmp(both->server.hg_class, sources[0], sources[1]));
    CHECK(HG_Addr_cmp(both->server.hg_class, sources[0], sources[2]));
    for (int i = 0; i < 3; ++i) CHECK_OK(HG_Addr_free(both->server.hg_class, sources[i]));
    close_both_sides(both);
}
