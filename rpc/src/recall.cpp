// SPDX-License-Identifier: BSD-3-Clause
// Credits that idle peers hold go to those that ask: when the pool is spent, the books are looked at in turn, and a
// peer that has sent nothing since the last turn is asked for what it does not use, down to its first credits.
#include "context_core.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t books_per_look = 64;

}  // namespace

void ContextCore::recall_idle_credits() noexcept {
    const std::uint32_t first = na->options().initial_credits;
    for (std::uint32_t looks = 0; looks < books_per_look; ++looks) {
        PeerBook* book = books.at(recall_next);
        if (!book) {
            recall_next = 0;
            if (!(book = books.at(0))) return;
        }
        ++recall_next;
        if (!book->peer || !book->open || book->recalled || book->granted <= first) continue;
        if (std::exchange(book->active, false)) continue;
        book->recalled = true;
        send_control(*book, {ControlType::recall, first, 0});
    }
}

// As origin: gives back what no call waits for.
void ContextCore::return_credits(PeerBook& book, std::uint32_t keep) noexcept {
    const std::uint32_t spare = book.queued.empty() && book.credits > keep ? book.credits - keep : 0;
    book.credits -= spare;
    send_control(book, {ControlType::returned, spare, 0});
}

// As target. A peer that claims more than it was granted gives back what it was.
void ContextCore::credits_returned(PeerBook& book, std::uint32_t credits) noexcept {
    if (!std::exchange(book.recalled, false)) return;
    const std::uint32_t back = std::min(credits, book.granted);
    book.granted -= back;
    book.budget -= back;
    budgets -= back;
}

}  // namespace cinnabar::rpc
