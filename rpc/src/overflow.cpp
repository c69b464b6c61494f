// SPDX-License-Identifier: BSD-3-Clause
#include "overflow.hpp"

#include <utility>

namespace cinnabar::rpc {

Errc Overflow::reserve(std::uint64_t bytes, PeerBook* peer) noexcept {
    if (bytes > bytes_max_) return Errc::too_large;
    return budget_.take(bytes, peer ? &peer->overflow_bytes : nullptr) ? Errc::ok : Errc::overloaded;
}

void Overflow::give_back(std::uint64_t bytes, PeerBook* peer) noexcept {
    budget_.give_back(bytes, peer ? &peer->overflow_bytes : nullptr);
}

Errc Overflow::allocate(std::uint64_t bytes, bulk::Region& region, PeerBook* peer) noexcept {
    if (const Errc over = reserve(bytes, peer); over != Errc::ok) return over;
    auto made = pool_.take(bytes);
    if (!made) {
        give_back(bytes, peer);
        return made.code();
    }
    region = *std::move(made);
    return Errc::ok;
}

void Overflow::drop(bulk::Region& region, PeerBook* peer) noexcept {
    if (!region) return;
    give_back(region.bytes(), peer);
    pool_.give(std::exchange(region, {}));
}

bool Overflow::may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept {
    const std::uint64_t all = budget_.taken() + bytes;
    if (book.claimed_bytes == 0 || all > budget_.bytes_max()) return true;  // the budget decides
    return book.claimed_bytes + bytes <= budget_.bytes_max() - all;
}

}  // namespace cinnabar::rpc
