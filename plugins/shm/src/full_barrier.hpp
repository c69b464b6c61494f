// SPDX-License-Identifier: BSD-3-Clause
// A full memory barrier. The writer uses it between writing a record and checking whether the reader sleeps; the reader
// uses it between announcing that it will sleep and checking for records. If both do this at the same time, at least
// one of them sees what the other has written.
#pragma once

#include <atomic>

namespace cinnabar::shm {

// ThreadSanitizer does not understand fences, and does not know that a writer and a reader in one process map the same
// memory twice. So in builds with ThreadSanitizer, both sides access a shared word. Does nothing in other builds.
inline void order_for_sanitizer() noexcept {
#ifdef __SANITIZE_THREAD__
    static std::atomic<unsigned> word{0};
    (void)word.fetch_add(0, std::memory_order_seq_cst);
#endif
}

inline void full_barrier() noexcept {
#ifdef __SANITIZE_THREAD__
    order_for_sanitizer();
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace cinnabar::shm
