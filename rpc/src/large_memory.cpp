// SPDX-License-Identifier: BSD-3-Clause
#include "large_memory.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {
namespace {

// Takes from the quota first, so that bytes which the quota refuses never take room in the budget that others could
// use.
Errc take_from(SharedBudget& budget, std::uint64_t bytes, SharedBudget::Part* part, Payer payer) noexcept {
    if (payer.caller && !payer.caller->take_bytes(bytes, payer.refusal)) return payer.refusal->code();
    if (budget.take(bytes, part)) return Errc::ok;
    if (payer.caller) payer.caller->give_back_bytes(bytes);
    return Errc::overloaded;
}

void give_back_to(SharedBudget& budget, std::uint64_t bytes, SharedBudget::Part* part, CallerAccount* caller) noexcept {
    budget.give_back(bytes, part);
    if (caller) caller->give_back_bytes(bytes);
}

}  // namespace

Errc LargeMemory::reserve(std::uint64_t bytes, Payer payer) noexcept {
    if (payer.refusal) *payer.refusal = {};
    if (bytes > bytes_max_) return Errc::too_large;
    auto* const part = payer.peer ? &payer.peer->large_bytes : nullptr;
    return take_from(budget_, bytes, part, payer);
}

void LargeMemory::give_back(std::uint64_t bytes, Payer payer) noexcept {
    give_back_to(budget_, bytes, payer.peer ? &payer.peer->large_bytes : nullptr, payer.caller);
}

Errc LargeMemory::allocate(std::uint64_t bytes, bulk::Region& region, Payer payer) noexcept {
    if (const Errc over = reserve(bytes, payer); over != Errc::ok) return over;
    auto made = pool_.take(bytes);
    if (!made) {
        give_back(bytes, payer);
        return made.code();
    }
    region = *std::move(made);
    return Errc::ok;
}

void LargeMemory::drop(bulk::Region& region, Payer payer) noexcept {
    if (!region) return;
    give_back(region.bytes(), payer);
    pool_.give(std::exchange(region, {}));
}

Errc LargeMemory::reserve_decoded(std::uint64_t bytes, std::uint64_t held, Payer payer) noexcept {
    if (payer.refusal) *payer.refusal = {};
    if (bytes > decoded_.part_max() - std::min(decoded_.part_max(), held)) return Errc::too_large;
    auto* const part = payer.peer ? &payer.peer->decoded_bytes : nullptr;
    return take_from(decoded_, bytes, part, payer);
}

void LargeMemory::give_back_decoded(std::uint64_t bytes, Payer payer) noexcept {
    give_back_to(decoded_, bytes, payer.peer ? &payer.peer->decoded_bytes : nullptr, payer.caller);
}

bool LargeMemory::may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept {
    const std::uint64_t all = budget_.taken() + bytes;
    if (book.claimed_bytes == 0 || all > budget_.bytes_max()) return true;  // the budget decides
    return book.claimed_bytes + bytes <= budget_.bytes_max() - all;
}

}  // namespace cinnabar::rpc
