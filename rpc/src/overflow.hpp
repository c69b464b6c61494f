// SPDX-License-Identifier: BSD-3-Clause
// The memory of arguments and results that do not fit a message. One byte budget per context counts all such buffers,
// and another what arguments are decoded to; of either, each peer has a part. Any thread.
#pragma once

#include "overflow_pool.hpp"
#include "peer_book.hpp"
#include "shared_budget.hpp"

#include <cinnabar/rpc/options.hpp>

namespace cinnabar::rpc {

// `peer`: for whose request; null for a call of this side.
class Overflow {
  public:
    explicit Overflow(const Options& options) noexcept
        : bytes_max_(options.argument_bytes_max),
          budget_(options.overflow_bytes_max),
          pool_(options.overflow_kept_max),
          decoded_(options.decoded_bytes_max) {}

    [[nodiscard]] Errc reserve(std::uint64_t bytes, PeerBook* peer) noexcept;
    void give_back(std::uint64_t bytes, PeerBook* peer) noexcept;
    [[nodiscard]] Errc allocate(std::uint64_t bytes, bulk::Region& region, PeerBook* peer) noexcept;
    void drop(bulk::Region& region, PeerBook* peer) noexcept;
    // Whether the peer may have a result of so many bytes fetched. A target claims what it may never send: one result,
    // and more as far as that leaves as much free for others. Owner of the context only.
    [[nodiscard]] bool may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept;
    void close() noexcept { pool_.close(); }

    [[nodiscard]] std::uint64_t taken() const noexcept { return budget_.taken(); }
    [[nodiscard]] std::uint64_t pooled() noexcept { return pool_.bytes(); }
    // What arguments take beyond decode_free_bytes.
    [[nodiscard]] SharedBudget& decoded() noexcept { return decoded_; }

  private:
    const std::uint64_t bytes_max_;
    SharedBudget budget_;
    OverflowPool pool_;  // of buffers whose use is over
    SharedBudget decoded_;
};

}  // namespace cinnabar::rpc
