// SPDX-License-Identifier: BSD-3-Clause
// Lent pieces: how a member gets its portion from a source on its own host. A source that pushes chunks copies for all
// members on one thread; members that copy by themselves use a processor each. So the member asks its source for a
// large piece and names a secret key. The source calls the member back with that key and lends the piece for as long as
// this call runs, and the member pulls the piece. So each piece is an ordinary call of the source, which the source
// ends when the memory is taken back (decision 138).
#pragma once

#include "holding.hpp"
#include "signal.hpp"
#include "wire.hpp"

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/request.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <stop_token>
#include <unordered_map>

namespace cinnabar::group {

struct LendRequest {
    std::uint64_t ticket = 0;
    std::uint64_t total = 0;  // size of the offer as the member understands it
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t key = 0;  // for the call back
};
// Answered after the call back.
inline constexpr hl::Rpc<void(LendRequest)> lend_rpc{"cinnabar.group.lend"};

struct LentPiece {
    std::uint64_t key = 0;
    hl::Bulk memory;
};
// The call back: answered when the member has copied the piece.
inline constexpr hl::Rpc<void(LentPiece)> lent_rpc{"cinnabar.group.lent"};

// A smaller portion is not worth two calls for a piece.
inline constexpr std::uint64_t lent_portion_min = std::uint64_t{4} << 20;
// Less than a processor's cache, where members that copy the same piece at about the same time find it.
inline constexpr std::uint64_t lent_piece_bytes = std::uint64_t{8} << 20;
// While a piece is copied, the next one is asked for.
inline constexpr unsigned lent_in_flight = 2;

// Whether calls to that process use shared memory.
[[nodiscard]] bool is_near(const hl::NodeRef& node, const na::Addr& address);

// A piece that this process has asked for.
struct WantedPiece {
    std::shared_ptr<Holding> holding;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::stop_source given_up;  // stops the copy
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    bool in_place = false;  // set before `ended`
};

// The pieces that this process has asked for, by key. Any thread.
class WantedPieces {
  public:
    // Returns the key, which is good for one copy.
    [[nodiscard]] std::uint64_t add(const std::shared_ptr<WantedPiece>& piece);
    // Removes the piece, so that no copy of it begins any more. Returns whether a copy has begun before; if so,
    // WantedPiece::ended will be set when that copy ends.
    bool remove(std::uint64_t key);
    // Handles lent_rpc. not_found: no piece has that key, or its copy has begun already, or the memory was taken back.
    // invalid_argument: the lent piece has another size.
    [[nodiscard]] static hl::Task<Result<void>> answer(std::shared_ptr<WantedPieces> pieces,
                                                       hl::Request<LentPiece> incoming);
    [[nodiscard]] std::size_t size() const;

  private:
    [[nodiscard]] std::shared_ptr<WantedPiece> begin(std::uint64_t key);

    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<WantedPiece>> pieces_;  // no copy of them has begun
};

// Where to ask for a piece.
struct Lender {
    hl::NodeRef node;
    rpc::ProviderId provider = 0;
    na::Addr address;
    std::uint64_t ticket = 0;
    std::uint64_t total = 0;
    std::stop_token replaced;  // stopped when another process is to be asked
};
// Fetches a piece from the lender. ok: the piece is in place. again: the piece is not in place, and nothing writes
// there. Other errors are those of the task; the memory may then be written until the holding was taken back and no
// access is left (Holding::untouched).
[[nodiscard]] hl::Task<Errc> fetch_piece(Lender lender, std::shared_ptr<WantedPieces> pieces,
                                         std::shared_ptr<Holding> holding, std::uint64_t offset, std::uint64_t bytes);

}  // namespace cinnabar::group
