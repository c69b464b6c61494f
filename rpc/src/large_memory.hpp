// SPDX-License-Identifier: BSD-3-Clause
// The memory of large arguments and results, which do not fit in a message. Each context has one budget for the bytes
// of all these buffers, and another budget for the bytes of decoded arguments; each peer may have a part of either
// budget. If the caller has a quota, its account counts both as well. Any thread.
#pragma once

#include "large_memory_pool.hpp"
#include "peer_book.hpp"
#include "shared_budget.hpp"

#include <cinnabar/rpc/options.hpp>

#include <algorithm>

namespace cinnabar::rpc {

// The accounts that memory is charged to: the peer whose request needs the memory, and the caller's account if the
// caller has a quota. Both are null for a call of this side.
struct Payer {
    PeerBook* peer = nullptr;
    CallerAccount* caller = nullptr;
    QuotaRefusal* refusal = nullptr;  // says what the caller's quota refused; null if `caller` is null
};

// Returns the accounts that a request is charged to; valid until the request is freed. A request keeps its account, so
// bytes are given back to the account that they were taken from.
[[nodiscard]] inline Payer payer_of(Request& request) noexcept {
    CallerAccount* const caller = request.counted_by_.get();
    return {request.book_, caller, caller ? &request.whole_.refusal : nullptr};
}

class LargeMemory {
  public:
    explicit LargeMemory(const Options& options) noexcept
        : bytes_max_(std::min<std::uint64_t>(options.argument_bytes_max, ~std::uint32_t{0})),  // frames have 32 bits
          budget_(options.large_bytes_max),
          pool_(options.large_bytes_kept_max),
          decoded_(options.decoded_bytes_max) {}

    // Charges `bytes` for one large value. overloaded: the budget, the part of the peer, or the quota of the caller has
    // no room now. too_large: `bytes` is more than one value may have, or more than the quota ever allows.
    [[nodiscard]] Errc reserve(std::uint64_t bytes, Payer payer) noexcept;
    void give_back(std::uint64_t bytes, Payer payer) noexcept;
    [[nodiscard]] Errc allocate(std::uint64_t bytes, bulk::Region& region, Payer payer) noexcept;
    void drop(bulk::Region& region, Payer payer) noexcept;
    // Whether a result of this size may be pulled from the peer. A target may announce results that it never sends. So
    // one result may be pulled from a peer in any case, but further ones only if the results that are pulled from this
    // peer leave at least as much free as they use. Owner of the context only.
    [[nodiscard]] bool may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept;
    void close() noexcept { pool_.close(); }

    [[nodiscard]] std::uint64_t taken() const noexcept { return budget_.taken(); }
    [[nodiscard]] std::uint64_t pooled() noexcept { return pool_.bytes(); }
    // Charges decoded arguments beyond the first decode_free_bytes of each request. `held`: the bytes that the request
    // has reserved before. too_large: one peer can never have that much.
    [[nodiscard]] Errc reserve_decoded(std::uint64_t bytes, std::uint64_t held, Payer payer) noexcept;
    void give_back_decoded(std::uint64_t bytes, Payer payer) noexcept;
    [[nodiscard]] std::uint64_t decoded() const noexcept { return decoded_.taken(); }

  private:
    const std::uint64_t bytes_max_;
    SharedBudget budget_;
    LargeMemoryPool pool_;  // completed buffers, for reuse
    SharedBudget decoded_;
};

}  // namespace cinnabar::rpc
