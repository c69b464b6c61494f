// SPDX-License-Identifier: BSD-3-Clause
#include "slow_readers.hpp"

#include "control.hpp"
#include "credit_pool.hpp"
#include "part_of.hpp"
#include "peers.hpp"
#include "target.hpp"

namespace cinnabar::rpc {
namespace {

// Replies are normally sent in the round in which they are posted. A reply that waits for this long is not being read.
constexpr Microseconds unread_max{100'000};

}  // namespace

SlowReaders::SlowReaders(ContextBase& base, const Target& target, CreditPool& credits, Peers& peers,
                         Control& control) noexcept
    : base_(base), target_(target), credits_(credits), peers_(peers), control_(control) {
    look_.bind<&SlowReaders::disconnect_worst>(*this);
}

void SlowReaders::close() noexcept { base_.na->disarm(look_); }

void SlowReaders::refuse(PeerBook& book, std::uint64_t id, std::uint16_t flags) noexcept {
    book.account.request_over();
    credits_.retire(book);
    if ((flags & flag_one_way) == 0) {
        control_.send(book, {ControlType::refused, 0, id});
    } else if ((flags & flag_large) != 0) {
        control_.send(book, {ControlType::released, 0, id});
    }
    watch();
}

void SlowReaders::watch() noexcept {
    if (look_.armed() || base_.closed_) return;
    peers_.books.for_each([](PeerBook& book) { book.account.mark_unsent(); });
    base_.na->arm(look_, after(base_.na->now_us(), unread_max));
}

// Disconnects one peer at a time: this frees its slots, and the next refusal starts another check.
void SlowReaders::disconnect_worst() noexcept {
    if (target_.requests.taken() < target_.requests.slots_max() - target_.requests.slots_max() / 8) return;
    PeerBook* worst = nullptr;
    peers_.books.for_each([&](PeerBook& book) {
        if (!book.peer || !book.open) return;
        if (book.account.unsent_since_mark() > (worst ? worst->account.unsent_since_mark() : 0)) worst = &book;
    });
    if (worst) control_.end_session(*worst, "does not read its replies, which hold all request slots,");
}

}  // namespace cinnabar::rpc
