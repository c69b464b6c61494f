// SPDX-License-Identifier: BSD-3-Clause
#include "mailbox.hpp"

#include <sched.h>

#include <new>
#include <utility>

namespace cinnabar::self_ {

Mailbox::~Mailbox() {
    for (WorkQueue left = inbox_.take_all(); WorkItem* first = left.pop_front();) {
        for (auto* item = static_cast<MailboxItem*>(first); item;) {
            give_back(*std::exchange(item, std::exchange(item->rest, nullptr)));
        }
    }
}

void Mailbox::close() noexcept {
    visits_.fetch_or(closed_bit, std::memory_order_acq_rel);
    while (visits_.load(std::memory_order_acquire) != closed_bit) ::sched_yield();
}

void Mailbox::free_control(MailboxItem& item) noexcept { delete &item; }

Mailbox::Visit::Visit(Mailbox& mailbox) noexcept
    : mailbox_(mailbox), ok_((mailbox.visits_.fetch_add(1, std::memory_order_acquire) & closed_bit) == 0) {}

MailboxItem* Mailbox::with_buffer(MailboxItem& item) noexcept {
    item.buffer.reset(new (std::nothrow) std::byte[message_bytes_max_]);
    if (item.buffer) return &item;
    items_.release(item);
    return nullptr;
}

void Mailbox::Visit::push(MailboxItem& item) noexcept {
    (void)mailbox_.inbox_.push(item);
    mailbox_.host_.wake();
}

}  // namespace cinnabar::self_
