/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_byteswap.h>
#include <mercury_hash_string.h>
#include <mercury_hash_table.h>
#include <mercury_inet.h>
#include <mercury_param.h>
#include <mercury_queue.h>

enum { keys_count = 1000 };

static int freed_keys, freed_values;

static unsigned int hash_of(hg_hash_table_key_t key) { return *(unsigned int*)key % 7; /* so that keys collide */ }
static int are_equal(hg_hash_table_key_t one, hg_hash_table_key_t other) { return *(int*)one == *(int*)other; }
static void free_key(hg_hash_table_key_t key) { freed_keys += key != NULL; }
static void free_value(hg_hash_table_value_t value) { freed_values += value != NULL; }

static void table_finds_what_was_put_in(void) {
    static int keys[keys_count], values[keys_count];
    int again = 5, i, walked = 0;
    hg_hash_table_iter_t iter;
    hg_hash_table_t* table = hg_hash_table_new(hash_of, are_equal);
    CHECK(table != NULL);
    hg_hash_table_register_free_functions(table, free_key, free_value);
    for (i = 0; i < keys_count; ++i) {
        keys[i] = i;
        CHECK(hg_hash_table_lookup(table, &keys[i]) == HG_HASH_TABLE_NULL);
        CHECK(hg_hash_table_insert(table, &keys[i], &values[i]) != 0);
    }
    CHECK(hg_hash_table_num_entries(table) == keys_count);
    for (i = 0; i < keys_count; ++i) CHECK(hg_hash_table_lookup(table, &keys[i]) == &values[i]);

    /* An equal key replaces key and value. */
    CHECK(hg_hash_table_insert(table, &again, &values[0]) != 0);
    CHECK(hg_hash_table_num_entries(table) == keys_count && freed_keys == 1 && freed_values == 1);
    keys[5] = -1; /* not used any more */
    CHECK(hg_hash_table_lookup(table, &again) == &values[0]);

    /* The value returned by the walk may be removed. */
    for (hg_hash_table_iterate(table, &iter); hg_hash_table_iter_has_more(&iter); ++walked) {
        int* value = (int*)hg_hash_table_iter_next(&iter);
        if (value == &values[7]) CHECK(hg_hash_table_remove(table, &keys[7]) != 0);
    }
    CHECK(walked == keys_count);
    CHECK(hg_hash_table_iter_next(&iter) == HG_HASH_TABLE_NULL);
    CHECK(hg_hash_table_remove(table, &keys[7]) == 0);
    CHECK(hg_hash_table_num_entries(table) == keys_count - 1);

    hg_hash_table_free(table);
    CHECK(freed_keys == keys_count + 1 && freed_values == keys_count + 1);
}

static void hash_of_a_name_is_djb2(void) {
    CHECK(hg_hash_string("") == 5381);
    CHECK(hg_hash_string("probe") == 0x102a20fdu);
    CHECK(hg_hash_string("\xff") == 5381u * 33 + 255);
}

static void bytes_are_turned(void) {
    const uint64_t value = 0x0102030405060708u;
    const unsigned char* bytes;
    uint64_t wire = htonll(value);
    bytes = (const unsigned char*)&wire;
    CHECK(bytes[0] == 1 && bytes[7] == 8 && ntohll(wire) == value);
    CHECK(bswap_16(0x0102) == 0x0201 && bswap_32(0x01020304u) == 0x04030201u);
    CHECK(bswap_64(value) == 0x0807060504030201u);
    CHECK(MIN(2, 3) == 2 && MAX(2, 3) == 3 && powerof2(64) && !powerof2(65));
}

struct Item {
    int number;
    STAILQ_ENTRY(Item) entry;
};

static void lists_are_there(void) {
    STAILQ_HEAD(, Item) list = STAILQ_HEAD_INITIALIZER(list);
    struct Item items[3], *item;
    int i, sum = 0;
    for (i = 0; i < 3; ++i) {
        items[i].number = i + 1;
        STAILQ_INSERT_TAIL(&list, &items[i], entry);
    }
    STAILQ_FOREACH(item, &list, entry) sum = sum * 10 + item->number;
    CHECK(sum == 123);
}

int main(void) {
    table_finds_what_was_put_in();
    hash_of_a_name_is_djb2();
    bytes_are_turned();
    lists_are_there();
    return EXIT_SUCCESS;
}
