// SPDX-License-Identifier: BSD-3-Clause
// Strings and their procs. Memory comes from malloc, because users free strings that they take over.
#include "input.hpp"
#include "mercury_proc_string.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

// A copy of `bytes` bytes, including the null byte at the end.
char* copy_of(const char* text, std::size_t bytes) noexcept {
    auto* const copy = static_cast<char*>(std::malloc(bytes));
    if (copy) std::memcpy(copy, text, bytes);
    return copy;
}

hg_return_t encode(hg_proc_t proc, hg_string_object_t& string) {
    std::uint64_t bytes = string.data ? std::strlen(string.data) + 1 : 0;
    hg_return_t ret = hg_proc_uint64_t(proc, &bytes);
    if (bytes == 0 || ret != HG_SUCCESS) return ret;
    std::uint8_t flags[] = {string.is_const, string.is_owned};
    ret = hg_proc_bytes(proc, string.data, bytes);
    return ret == HG_SUCCESS ? hg_proc_bytes(proc, flags, sizeof flags) : ret;
}

hg_return_t decode(hg_proc_t proc, hg_string_object_t& string) {
    std::uint64_t bytes = 0;
    string = {nullptr, false, false};
    hg_return_t ret = hg_proc_uint64_t(proc, &bytes);
    if (bytes == 0 || ret != HG_SUCCESS) return ret;
    const auto* const text = static_cast<const char*>(cinnabar::mercury::next_bytes(*proc, bytes));
    if (!text) return HG_OVERFLOW;
    if (text[bytes - 1] != '\0') return HG_PROTOCOL_ERROR;
    std::uint8_t flags[2] = {};
    ret = hg_proc_bytes(proc, flags, sizeof flags);
    if (ret != HG_SUCCESS) return ret;
    string.data = copy_of(text, bytes);
    // The flags that were sent describe the sender's memory.
    string.is_owned = true;
    return string.data ? HG_SUCCESS : HG_NOMEM;
}

}  // namespace

hg_return_t hg_string_object_init(hg_string_object_t* string) {
    if (!string) return HG_INVALID_ARG;
    *string = {nullptr, false, false};
    return HG_SUCCESS;
}

hg_return_t hg_string_object_init_char(hg_string_object_t* string, char* s, uint8_t is_owned) {
    if (!string) return HG_INVALID_ARG;
    *string = {s, false, is_owned != 0};
    return HG_SUCCESS;
}

hg_return_t hg_string_object_init_const_char(hg_string_object_t* string, const char* s, uint8_t is_owned) {
    if (!string) return HG_INVALID_ARG;
    *string = {const_cast<char*>(s), true, is_owned != 0};
    return HG_SUCCESS;
}

hg_return_t hg_string_object_free(hg_string_object_t* string) {
    if (!string) return HG_INVALID_ARG;
    if (string->is_owned) std::free(string->data);
    *string = {nullptr, false, false};
    return HG_SUCCESS;
}

hg_return_t hg_string_object_dup(hg_string_object_t string, hg_string_object_t* new_string) {
    if (!new_string) return HG_INVALID_ARG;
    *new_string = {nullptr, false, true};
    if (!string.data) return HG_SUCCESS;
    new_string->data = copy_of(string.data, std::strlen(string.data) + 1);
    return new_string->data ? HG_SUCCESS : HG_NOMEM;
}

char* hg_string_object_swap(hg_string_object_t* string, char* s) {
    if (!string) return nullptr;
    char* const present = string->data;
    *string = {s, false, false};
    return present;
}

hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void* string) {
    if (!proc || !string) return HG_INVALID_ARG;
    auto& object = *static_cast<hg_string_object_t*>(string);
    switch (hg_proc_get_op(proc)) {
        case HG_ENCODE:
            return encode(proc, object);
        case HG_DECODE:
            return decode(proc, object);
        case HG_FREE:
            break;
    }
    return hg_string_object_free(&object);
}

hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void* data) {
    if (!proc || !data) return HG_INVALID_ARG;
    char*& text = *static_cast<char**>(data);
    const bool freeing = hg_proc_get_op(proc) == HG_FREE;
    hg_string_object_t object{text, false, freeing};
    const hg_return_t ret = hg_proc_hg_string_object_t(proc, &object);
    if (ret == HG_SUCCESS) text = object.data;
    return ret;
}

hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void* data) { return hg_proc_hg_string_t(proc, data); }
