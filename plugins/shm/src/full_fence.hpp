// SPDX-License-Identifier: BSD-3-Clause
// The fence between "I have written" and "does anybody sleep", and between "I am about to sleep" and "was anything
// written": of two sides that do this at once, one sees the other.
#pragma once

#include <atomic>

namespace cinnabar::shm {

// The thread sanitizer knows no fences, nor that two mappings, of a writer and a reader in one process, are the same
// memory: a word that all touch in their place. Nothing in other builds.
inline void order_for_sanitizer() noexcept {
#ifdef __SANITIZE_THREAD__
    static std::atomic<unsigned> word{0};
    (void)word.fetch_add(0, std::memory_order_seq_cst);
#endif
}

inline void full_fence() noexcept {
#ifdef __SANITIZE_THREAD__
    order_for_sanitizer();
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace cinnabar::shm
