/* SPDX-License-Identifier: BSD-3-Clause
 * A string that knows whether it owns its text. Memory comes from malloc. Not thread-safe. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

typedef struct hg_string_object {
    char* data;
    bool is_const; /* the text must not be changed */
    bool is_owned; /* hg_string_object_free frees it */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the string to NULL. */
HG_PUBLIC hg_return_t hg_string_object_init(hg_string_object_t* string);
/* Stores the pointer without copying. */
HG_PUBLIC hg_return_t hg_string_object_init_char(hg_string_object_t* string, char* s, uint8_t is_owned);
HG_PUBLIC hg_return_t hg_string_object_init_const_char(hg_string_object_t* string, const char* s, uint8_t is_owned);
HG_PUBLIC hg_return_t hg_string_object_free(hg_string_object_t* string);
/* Makes an owned copy of the text. HG_NOMEM. */
HG_PUBLIC hg_return_t hg_string_object_dup(hg_string_object_t string, hg_string_object_t* new_string);
/* Passes the current text and its ownership to the caller and stores `s`, which is not owned. */
HG_PUBLIC char* hg_string_object_swap(hg_string_object_t* string, char* s);

#ifdef __cplusplus
}
#endif
#endif
