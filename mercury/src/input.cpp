// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include "handle.hpp"
#include "mercury_proc.h"

#include <sched.h>

namespace cinnabar::mercury {

void InputState::begin_read_of_lent() noexcept {
    for (;;) {
        std::uint8_t seen = lent;
        if (state_.compare_exchange_weak(seen, reading, std::memory_order_acquire) || seen == settled) return;
        if (seen != lent) ::sched_yield();  // another thread is giving it back
    }
}

void InputState::end_read_of_lent(hg_handle& handle) noexcept {
    std::uint8_t seen = reading;
    if (state_.compare_exchange_strong(seen, lent, std::memory_order_acq_rel) || seen == settled) return;
    settle_within(handle);
    state_.store(settled, std::memory_order_release);
}

void InputState::settle_within(hg_handle& handle) noexcept {
    if (!stays_) give_back_credit(handle);
}

void InputState::settle(hg_handle& handle) noexcept {
    begin_read();
    give_back_credit(handle);
    state_.store(settled, std::memory_order_release);
}

// A second call does nothing.
void InputState::give_back_credit(hg_handle& handle) const noexcept {
    if (handle.request && state_.load(std::memory_order_relaxed) != settled) handle.request->detach();
}

void InputState::give_back(hg_handle& handle) noexcept {
    if (stays_) return give_back_credit(handle);
    std::uint8_t seen = lent;
    while (seen != settled) {
        if (seen == lent && state_.compare_exchange_weak(seen, reading, std::memory_order_acquire)) {
            settle_within(handle);
            return state_.store(settled, std::memory_order_release);
        }
        if (seen == reading && state_.compare_exchange_weak(seen, give_back_after, std::memory_order_acq_rel)) return;
    }
}

const void* next_bytes(hg_proc& proc, hg_size_t bytes) noexcept {
    if (hg_proc_get_size_left(&proc) < bytes) return nullptr;
    const char* const at = proc.at;
    proc.at += bytes;
    return at;
}

}  // namespace cinnabar::mercury
