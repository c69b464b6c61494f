// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_hash_table.h>
#include <mercury_queue.h>

#include <memory>
#include <new>
#include <unordered_map>

// An entry is in the table's map by its key, and in a list for iteration, which stays valid when entries are removed.
struct hg_hash_table_entry {
    hg_hash_table_key_t key;
    hg_hash_table_value_t value;
    TAILQ_ENTRY(hg_hash_table_entry) place;
};

namespace {

struct Hash {
    hg_hash_table_hash_func_t function;
    std::size_t operator()(void* key) const { return function(key); }
};

struct Equal {
    hg_hash_table_equal_func_t function;
    bool operator()(void* one, void* other) const { return function(one, other) != 0; }
};

}  // namespace

struct hg_hash_table {
    hg_hash_table(hg_hash_table_hash_func_t hash, hg_hash_table_equal_func_t equal)
        : map(0, Hash{hash}, Equal{equal}) {}

    ~hg_hash_table() {
        while (!TAILQ_EMPTY(&walk)) forget(TAILQ_FIRST(&walk));
    }

    void free_contents(const hg_hash_table_entry& entry) const {
        if (key_free != nullptr) key_free(entry.key);
        if (value_free != nullptr) value_free(entry.value);
    }

    // Requires: the entry is no longer in the map.
    void forget(hg_hash_table_entry* entry) {
        TAILQ_REMOVE(&walk, entry, place);
        free_contents(*entry);
        delete entry;
    }

    std::unordered_map<void*, hg_hash_table_entry*, Hash, Equal> map;
    TAILQ_HEAD(Walk, hg_hash_table_entry) walk = TAILQ_HEAD_INITIALIZER(walk);
    hg_hash_table_key_free_func_t key_free = nullptr;
    hg_hash_table_value_free_func_t value_free = nullptr;
};

hg_hash_table_t* hg_hash_table_new(hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func) try {
    return new hg_hash_table(hash_func, equal_func);
} catch (const std::bad_alloc&) {
    return nullptr;
}

void hg_hash_table_free(hg_hash_table_t* hash_table) { delete hash_table; }

void hg_hash_table_register_free_functions(hg_hash_table_t* hash_table, hg_hash_table_key_free_func_t key_free_func,
                                           hg_hash_table_value_free_func_t value_free_func) {
    hash_table->key_free = key_free_func;
    hash_table->value_free = value_free_func;
}

int hg_hash_table_insert(hg_hash_table_t* hash_table, hg_hash_table_key_t key, hg_hash_table_value_t value) try {
    auto entry = std::make_unique<hg_hash_table_entry>(hg_hash_table_entry{key, value, {}});
    // The map points to the key of the old entry, which is freed with it, so the node is replaced as a whole.
    if (auto old = hash_table->map.extract(key)) {
        hg_hash_table_entry* const before = old.mapped();
        old.key() = key;
        old.mapped() = entry.get();
        hash_table->map.insert(std::move(old));
        hash_table->forget(before);
    } else {
        hash_table->map.emplace(key, entry.get());
    }
    hg_hash_table_entry* const kept = entry.release();
    TAILQ_INSERT_TAIL(&hash_table->walk, kept, place);
    return 1;
} catch (const std::bad_alloc&) {
    return 0;
}

hg_hash_table_value_t hg_hash_table_lookup(hg_hash_table_t* hash_table, hg_hash_table_key_t key) {
    const auto found = hash_table->map.find(key);
    return found == hash_table->map.end() ? HG_HASH_TABLE_NULL : found->second->value;
}

int hg_hash_table_remove(hg_hash_table_t* hash_table, hg_hash_table_key_t key) {
    const auto node = hash_table->map.extract(key);
    if (!node) return 0;
    hash_table->forget(node.mapped());
    return 1;
}

unsigned int hg_hash_table_num_entries(hg_hash_table_t* hash_table) {
    return static_cast<unsigned>(hash_table->map.size());
}

void hg_hash_table_iterate(hg_hash_table_t* hash_table, hg_hash_table_iter_t* iter) {
    *iter = {hash_table, TAILQ_FIRST(&hash_table->walk)};
}

int hg_hash_table_iter_has_more(hg_hash_table_iter_t* iterator) { return iterator->next_entry != nullptr ? 1 : 0; }

hg_hash_table_value_t hg_hash_table_iter_next(hg_hash_table_iter_t* iterator) {
    hg_hash_table_entry* const entry = iterator->next_entry;
    if (entry == nullptr) return HG_HASH_TABLE_NULL;
    iterator->next_entry = TAILQ_NEXT(entry, place);
    return entry->value;
}
