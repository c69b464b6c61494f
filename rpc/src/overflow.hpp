// SPDX-License-Identifier: BSD-3-Clause
// The memory of large arguments and results, which do not fit in a message. One budget per context counts the bytes of
// all these buffers, and another one those of decoded arguments; each peer may have a part of either. Any thread.
#pragma once

#include "overflow_pool.hpp"
#include "peer_book.hpp"
#include "shared_budget.hpp"

#include <cinnabar/rpc/options.hpp>

#include <algorithm>

namespace cinnabar::rpc {

// `peer`: the peer whose request needs the memory; null: a call of this side.
class Overflow {
  public:
    explicit Overflow(const Options& options) noexcept
        : bytes_max_(std::min<std::uint64_t>(options.argument_bytes_max, ~std::uint32_t{0})),  // frames have 32 bits
          budget_(options.overflow_bytes_max),
          pool_(options.overflow_kept_max),
          decoded_(options.decoded_bytes_max) {}

    [[nodiscard]] Errc reserve(std::uint64_t bytes, PeerBook* peer) noexcept;
    void give_back(std::uint64_t bytes, PeerBook* peer) noexcept;
    [[nodiscard]] Errc allocate(std::uint64_t bytes, bulk::Region& region, PeerBook* peer) noexcept;
    void drop(bulk::Region& region, PeerBook* peer) noexcept;
    // Whether a result of this size may be pulled from the peer. A target may announce results that it never sends: it
    // may claim one result, and more as long as that leaves as much free for others. Owner of the context only.
    [[nodiscard]] bool may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept;
    void close() noexcept { pool_.close(); }

    [[nodiscard]] std::uint64_t taken() const noexcept { return budget_.taken(); }
    [[nodiscard]] std::uint64_t pooled() noexcept { return pool_.bytes(); }
    // The budget of decoded arguments, beyond decode_free_bytes each.
    [[nodiscard]] SharedBudget& decoded() noexcept { return decoded_; }

  private:
    const std::uint64_t bytes_max_;
    SharedBudget budget_;
    OverflowPool pool_;  // completed buffers, for reuse
    SharedBudget decoded_;
};

}  // namespace cinnabar::rpc
