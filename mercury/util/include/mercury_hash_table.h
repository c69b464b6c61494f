/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table of pointers to keys and values with user-defined hash and comparison. Not thread-safe. */
#ifndef HG_HASH_TABLE_H
#define HG_HASH_TABLE_H

#include "mercury_util_config.h"

typedef struct hg_hash_table hg_hash_table_t;
typedef struct hg_hash_table_iter hg_hash_table_iter_t;
typedef struct hg_hash_table_entry hg_hash_table_entry_t;
typedef void* hg_hash_table_key_t;
typedef void* hg_hash_table_value_t;

struct hg_hash_table_iter {
    hg_hash_table_t* hash_table;
    hg_hash_table_entry_t* next_entry; /* used by the table */
};

#define HG_HASH_TABLE_NULL ((void*)0)

typedef unsigned int (*hg_hash_table_hash_func_t)(hg_hash_table_key_t value);

/* Not 0 when the keys are equal. */
typedef int (*hg_hash_table_equal_func_t)(hg_hash_table_key_t value1, hg_hash_table_key_t value2);
typedef void (*hg_hash_table_key_free_func_t)(hg_hash_table_key_t value);
typedef void (*hg_hash_table_value_free_func_t)(hg_hash_table_value_t value);

#ifdef __cplusplus
extern "C" {
#endif

/* Null when there is no memory. */
HG_UTIL_PUBLIC hg_hash_table_t* hg_hash_table_new(hg_hash_table_hash_func_t hash_func,
                                                  hg_hash_table_equal_func_t equal_func);
HG_UTIL_PUBLIC void hg_hash_table_free(hg_hash_table_t* hash_table);

/* The functions that free the key and the value of an entry that is removed or replaced; either may be null. */
HG_UTIL_PUBLIC void hg_hash_table_register_free_functions(hg_hash_table_t* hash_table,
                                                          hg_hash_table_key_free_func_t key_free_func,
                                                          hg_hash_table_value_free_func_t value_free_func);

/* Replaces an entry with an equal key. 0 when there is no memory, else not 0. */
HG_UTIL_PUBLIC int hg_hash_table_insert(hg_hash_table_t* hash_table, hg_hash_table_key_t key,
                                        hg_hash_table_value_t value);

/* The value, or HG_HASH_TABLE_NULL. */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_lookup(hg_hash_table_t* hash_table, hg_hash_table_key_t key);

/* 0 when there is no such key, else not 0. */
HG_UTIL_PUBLIC int hg_hash_table_remove(hg_hash_table_t* hash_table, hg_hash_table_key_t key);

HG_UTIL_PUBLIC unsigned int hg_hash_table_num_entries(hg_hash_table_t* hash_table);

/* Iterates over all values in no particular order. During the iteration only the value returned last may be removed,
 * and none may be inserted. */
HG_UTIL_PUBLIC void hg_hash_table_iterate(hg_hash_table_t* hash_table, hg_hash_table_iter_t* iter);
HG_UTIL_PUBLIC int hg_hash_table_iter_has_more(hg_hash_table_iter_t* iterator);

/* The next value, or HG_HASH_TABLE_NULL after the last. */
HG_UTIL_PUBLIC hg_hash_table_value_t hg_hash_table_iter_next(hg_hash_table_iter_t* iterator);

#ifdef __cplusplus
}
#endif

#endif /* HG_HASH_TABLE_H */
