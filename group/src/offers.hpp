// SPDX-License-Identifier: BSD-3-Clause
// Offers: memory that this process offers to members, each offer for one call. A member that knows the ticket of an
// offer requests chunks. For each chunk it lends some of its memory, to or from which this process transfers the chunk.
// So the member decides how much is in flight, and this process accesses only memory that was lent for that chunk. A
// member on this host may instead ask for larger pieces of the offered memory to be lent to it (lent_pieces.hpp). Any
// thread.
#pragma once

#include "holding.hpp"
#include "lent_pieces.hpp"
#include "wire.hpp"

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/request.hpp>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace cinnabar::group {

struct ChunkRequest {
    std::uint64_t ticket = 0;
    std::uint64_t total = 0;  // size of the offer as the member understands it
    std::uint64_t offset = 0;
    std::uint32_t checksum = 0;  // of the chunk, if it comes from the member
    hl::Bulk memory;             // the member's, for this chunk only
};
struct ChunkAnswer {
    std::uint32_t checksum = 0;  // of the chunk, if it goes to the member
};
inline constexpr hl::Rpc<ChunkAnswer(ChunkRequest)> chunk_rpc{"cinnabar.group.chunk"};
// Sent by a member that has the whole offer with this ticket, or wants no more of it.
inline constexpr hl::OneWay<std::uint64_t> moved_message{"cinnabar.group.moved"};

inline constexpr std::uint32_t chunk_bytes_min = 4096;
inline constexpr std::uint32_t chunk_bytes_max = std::uint32_t{16} << 20;
inline constexpr unsigned window_max = 16;

struct Offer {
    std::uint64_t ticket = 0;
    Terms terms;
    std::shared_ptr<Holding> holding;
    std::stop_source given_up;  // stopped if the memory was taken back before the member had all
    // Guarded by the mutex of Offers:
    unsigned in_flight = 0;
    std::uint64_t bytes_asked = 0;
};

class Offers {
  public:
    // Handles chunk_rpc. not_found: no offer has this ticket, or the offer has ended. overloaded: the member has more
    // than window_max requests in flight, or has requested more than twice the bytes of the offer. invalid_argument:
    // the sizes do not fit the offer.
    [[nodiscard]] static hl::Task<Result<ChunkAnswer>> answer(std::shared_ptr<Offers> offers,
                                                              hl::Request<ChunkRequest> incoming);
    // Handles lend_rpc. Errors as for chunk_rpc. unsupported: the chunks of this offer have checksums or come from the
    // member, or the memory of the offer cannot be lent (Holding::can_lend).
    [[nodiscard]] static hl::Task<Result<void>> answer_lend(std::shared_ptr<Offers> offers,
                                                            hl::Request<LendRequest> incoming);

    // One offer with a ticket of its own; destroying it ends the offer.
    class Kept {
      public:
        Kept() = default;
        Kept(std::shared_ptr<Offers> offers, std::shared_ptr<Offer> offer) noexcept
            : offers_(std::move(offers)), offer_(std::move(offer)) {}
        Kept(Kept&&) noexcept = default;
        Kept& operator=(Kept&&) = delete;
        ~Kept() { end(); }
        void end();
        explicit operator bool() const noexcept { return offer_ != nullptr; }
        [[nodiscard]] const Offer& operator*() const noexcept { return *offer_; }
        [[nodiscard]] const Offer* operator->() const noexcept { return offer_.get(); }

      private:
        std::shared_ptr<Offers> offers_;
        std::shared_ptr<Offer> offer_;
    };
    // Uses `terms` except for their ticket. `ticket` 0: draws a secret one. Empty if that ticket is in use.
    [[nodiscard]] static Kept open(const std::shared_ptr<Offers>& offers, std::shared_ptr<Holding> holding, Terms terms,
                                   std::uint64_t ticket = 0);
    void moved(std::uint64_t ticket);
    [[nodiscard]] std::size_t size() const;
    // The pieces that this process has asked others to lend.
    [[nodiscard]] const std::shared_ptr<WantedPieces>& wanted() const noexcept { return wanted_; }

    // Serves requests for chunks and pieces, and the calls that lend pieces to this process; a second call of serve()
    // does nothing. exists: another group of this node serves such requests under that provider.
    [[nodiscard]] static Result<void> serve(const std::shared_ptr<Offers>& offers, hl::NodeRef node,
                                            rpc::ProviderId provider);
    // Stops serving for good.
    void withdraw(hl::NodeRef node, rpc::ProviderId provider) noexcept;

  private:
    [[nodiscard]] Result<std::shared_ptr<Offer>> enter(std::uint64_t ticket, std::uint64_t bytes);
    void leave(Offer& offer);
    void forget(Offer& offer);

    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<Offer>> offers_;
    const std::shared_ptr<WantedPieces> wanted_ = std::make_shared<WantedPieces>();
    std::mutex serving_mutex_;
    bool serving_ = false;
    bool closed_ = false;
};

}  // namespace cinnabar::group
