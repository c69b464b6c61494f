// SPDX-License-Identifier: BSD-3-Clause
#include "mailbox.hpp"

#include <sched.h>

#include <new>
#include <utility>

namespace cinnabar::self_ {

Mailbox::~Mailbox() {
    for (WorkQueue left = inbox_.take_all(); Work* first = left.pop_front();) {
        for (auto* letter = static_cast<Letter*>(first); letter;) {
            give_back(*std::exchange(letter, std::exchange(letter->rest, nullptr)));
        }
    }
}

void Mailbox::close() noexcept {
    visits_.fetch_or(closed_bit, std::memory_order_acq_rel);
    while (visits_.load(std::memory_order_acquire) != closed_bit) ::sched_yield();
}

void Mailbox::free_control(Letter& letter) noexcept { delete &letter; }

Mailbox::Visit::Visit(Mailbox& mailbox) noexcept
    : mailbox_(mailbox), ok_((mailbox.visits_.fetch_add(1, std::memory_order_acquire) & closed_bit) == 0) {}

Letter* Mailbox::with_buffer(Letter& letter) noexcept {
    letter.buffer.reset(new (std::nothrow) std::byte[message_bytes_max_]);
    if (letter.buffer) return &letter;
    letters_.release(letter);
    return nullptr;
}

void Mailbox::Visit::push(Letter& letter) noexcept {
    (void)mailbox_.inbox_.push(letter);
    mailbox_.host_.wake();
}

}  // namespace cinnabar::self_
