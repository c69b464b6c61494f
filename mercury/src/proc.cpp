// SPDX-License-Identifier: BSD-3-Clause
// User-defined procs, and the slow paths of HG's own procs.
#include "errors.hpp"
#include "handle.hpp"
#include "mercury_proc.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using cinnabar::mercury::guarded;

namespace {

constexpr std::size_t page = 4096;

void free_extra(hg_proc& proc) noexcept {
    if (proc.extra && proc.extra_is_mine) std::free(proc.extra);
    proc.extra = nullptr;
    proc.extra_size = 0;
    proc.extra_is_mine = 1;
}

// The user gets a pointer into the arguments that HG_Get_input decodes, so the bytes must not move from now on. This
// call may still move them, and then moves the pointers of the proc, too.
void settle_bytes(hg_proc& proc) noexcept {
    if (!proc.handle || !proc.handle->request) return;
    const auto start_of = [&] { return reinterpret_cast<const char*>(proc.handle->request->input().data()); };
    const cinnabar::ConstBytes input = proc.handle->request->input();
    const char* const before = start_of();
    if (proc.begin < before || proc.begin > before + input.size()) return;  // the proc runs on other memory
    proc.handle->input_state.settle_within(*proc.handle);
    const std::ptrdiff_t moved = start_of() - before;
    proc.begin += moved;
    proc.at += moved;
    proc.end += moved;
}

}  // namespace

hg_return_t hg_proc_create(hg_class_t* hg_class, hg_proc_hash_t, hg_proc_t* proc) {
    if (!hg_class || !proc) return HG_INVALID_ARG;
    return guarded([&] {
        *proc = new hg_proc{};
        (*proc)->hg_class = hg_class;
        (*proc)->extra_is_mine = 1;
        return HG_SUCCESS;
    });
}

hg_return_t hg_proc_create_set(hg_class_t* hg_class, void* buf, hg_size_t buf_size, hg_proc_op_t op,
                               hg_proc_hash_t hash, hg_proc_t* proc) {
    const hg_return_t made = hg_proc_create(hg_class, hash, proc);
    return made == HG_SUCCESS ? hg_proc_reset(*proc, buf, buf_size, op) : made;
}

hg_return_t hg_proc_free(hg_proc_t proc) {
    if (!proc) return HG_SUCCESS;
    free_extra(*proc);
    delete proc;
    return HG_SUCCESS;
}

hg_return_t hg_proc_reset(hg_proc_t proc, void* buf, hg_size_t buf_size, hg_proc_op_t op) {
    if (!proc || (!buf && op != HG_FREE)) return HG_INVALID_ARG;
    free_extra(*proc);
    proc->op = op;
    proc->begin = proc->at = static_cast<char*>(buf);
    proc->end = proc->begin + (buf ? buf_size : 0);
    proc->flags = 0;
    return HG_SUCCESS;
}

hg_return_t hg_proc_set_size(hg_proc_t proc, hg_size_t buf_size) {
    if (!proc) return HG_INVALID_ARG;
    if (buf_size <= hg_proc_get_size(proc)) return HG_SUCCESS;
    if (proc->op != HG_ENCODE) return HG_OVERFLOW;
    if (buf_size > HG_SIZE_MAX / 2) return HG_NOMEM;
    const std::size_t used = hg_proc_get_size_used(proc);
    const std::size_t wanted = std::max<std::size_t>(buf_size, hg_proc_get_size(proc) * 2);
    const std::size_t size = (wanted + page - 1) / page * page;
    auto* const grown = static_cast<char*>(std::aligned_alloc(page, size));
    if (!grown) return HG_NOMEM;
    if (used) std::memcpy(grown, proc->begin, used);
    free_extra(*proc);
    proc->extra = grown;
    proc->extra_size = size;
    proc->begin = grown;
    proc->at = grown + used;
    proc->end = grown + size;
    return HG_SUCCESS;
}

hg_return_t hg_proc_reserve(hg_proc_t proc, hg_size_t data_size) {
    const hg_size_t used = hg_proc_get_size_used(proc);
    return data_size > HG_SIZE_MAX / 2 ? HG_OVERFLOW : hg_proc_set_size(proc, used + data_size);
}

// Inlined, it would make each proc save all registers.
[[gnu::cold, gnu::noinline]] hg_return_t hg_proc_bytes_beyond(hg_proc_t proc, void* data, hg_size_t data_size) {
    const hg_return_t grown = hg_proc_reserve(proc, data_size);
    return grown == HG_SUCCESS ? hg_proc_bytes(proc, data, data_size) : grown;
}

void* hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size) {
    if (!proc || proc->op == HG_FREE) return nullptr;
    if (hg_proc_get_size_left(proc) < data_size && hg_proc_reserve(proc, data_size) != HG_SUCCESS) return nullptr;
    if (proc->op == HG_DECODE) settle_bytes(*proc);
    char* const bytes = proc->at;
    proc->at += data_size;
    return bytes;
}

hg_return_t hg_proc_restore_ptr(hg_proc_t proc, void*, hg_size_t) {
    return proc && proc->op != HG_FREE ? HG_SUCCESS : HG_INVALID_ARG;
}

hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, uint8_t mine) {
    if (!proc || !proc->extra) return HG_INVALID_ARG;
    proc->extra_is_mine = mine ? 0 : 1;  // "mine" means: owned by the caller
    return HG_SUCCESS;
}

hg_return_t hg_proc_flush(hg_proc_t proc) { return proc ? HG_SUCCESS : HG_INVALID_ARG; }
