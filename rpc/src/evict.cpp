// SPDX-License-Identifier: BSD-3-Clause
// Connections that nobody uses make room for new ones before the transport has to turn peers away. Nothing is lost by
// it: the peer is asked to leave, and both sides send nothing more until it has left or said that it stays; what waited
// is sent on the next connection.
#include "context_core.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t candidates_max = 64;

bool unused(const PeerBook& book) noexcept { return book.open && book.idle() && book.control.empty(); }

}  // namespace

// One eighth of the connections is kept free. Of the next few, the one that was silent the longest is asked to leave.
void ContextCore::make_room() noexcept {
    const std::uint32_t spare = std::max(connections_max / 8, 1u);
    while (connections - connections_leaving > connections_max - spare) {
        PeerBook* quietest = nullptr;
        for (std::uint32_t looks = 0; looks < candidates_max; ++looks) {
            PeerBook* book = books.at(evict_next);
            evict_next = book ? evict_next + 1 : 0;
            if (!book || !book->peer || book->leaving != Leaving::no || !unused(*book)) continue;
            if (!quietest || book->heard < quietest->heard) quietest = book;
        }
        if (!quietest) return;
        send_control(*quietest, {ControlType::leave, 0, 0});
        quietest->leaving = Leaving::asked;
        ++connections_leaving;
        quietest->asked = na->now_us();
        watch_peer(*quietest);
    }
}

void ContextCore::asked_to_leave(PeerBook& book) noexcept {
    if (!unused(book)) return send_control(book, {ControlType::stay, 0, 0});
    if (std::exchange(book.leaving, Leaving::gone) == Leaving::no) ++connections_leaving;
    book.peer->port().disconnect(*book.peer);
}

void ContextCore::peer_stays(PeerBook& book) noexcept {
    if (book.leaving != Leaving::asked) return;
    book.leaving = Leaving::no;
    --connections_leaving;
    // The next connection that is made asks again: at once, those that have to stay would be asked for ever.
    pump(book);
}

}  // namespace cinnabar::rpc
