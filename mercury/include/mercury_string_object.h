/* SPDX-License-Identifier: BSD-3-Clause
 * A string that knows whether it is to be freed. Memory is that of malloc and free. One thread at a time. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

typedef struct hg_string_object {
    char* data;
    bool is_const; /* the text is not to be changed */
    bool is_owned; /* hg_string_object_free frees it */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Empty: NULL. */
HG_PUBLIC hg_return_t hg_string_object_init(hg_string_object_t* string);
/* Takes the pointer as it is. */
HG_PUBLIC hg_return_t hg_string_object_init_char(hg_string_object_t* string, char* s, uint8_t is_owned);
HG_PUBLIC hg_return_t hg_string_object_init_const_char(hg_string_object_t* string, const char* s, uint8_t is_owned);
HG_PUBLIC hg_return_t hg_string_object_free(hg_string_object_t* string);
/* A copy of the text, owned. HG_NOMEM. */
HG_PUBLIC hg_return_t hg_string_object_dup(hg_string_object_t string, hg_string_object_t* new_string);
/* Gives the present text to the caller, with its ownership, and takes `s`, not owned. */
HG_PUBLIC char* hg_string_object_swap(hg_string_object_t* string, char* s);

#ifdef __cplusplus
}
#endif
#endif
