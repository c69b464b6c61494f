/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_HASH_STRING_H
#define MERCURY_HASH_STRING_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* djb2 in 32 bits, the hash from which Mercury makes the id of an RPC. */
static HG_UTIL_INLINE unsigned int hg_hash_string(const char* string) {
    unsigned int hash = 5381;
    for (; *string != '\0'; ++string) hash = hash * 33 + (unsigned char)*string;
    return hash;
}

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_HASH_STRING_H */
