// SPDX-License-Identifier: BSD-3-Clause
// A memory barrier between writing a record and checking whether the reader sleeps, and between going to sleep and
// checking for records. If both sides do this at the same time, at least one sees what the other has written.
#pragma once

#include <atomic>

namespace cinnabar::shm {

// ThreadSanitizer does not understand fences, nor that a writer and a reader in one process map the same memory twice.
// So in its builds both sides access a shared word. Does nothing in other builds.
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
