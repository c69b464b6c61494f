// SPDX-License-Identifier: BSD-3-Clause
#include "lent_pieces.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <utility>

namespace cinnabar::group {
namespace {

// Sets the signal even if the copy throws.
class EndOfCopy {
  public:
    explicit EndOfCopy(Signal& ended) noexcept : ended_(ended) {}
    ~EndOfCopy() { ended_.set(); }
    EndOfCopy(const EndOfCopy&) = delete;
    EndOfCopy& operator=(const EndOfCopy&) = delete;

  private:
    Signal& ended_;
};

hl::Task<Result<void>> copy_piece(const WantedPiece& piece, const hl::Bulk& lent) {
    if (lent.size() != piece.bytes)
        co_return Error(Errc::invalid_argument, "the lent piece does not have the size that was asked for");
    const auto access = piece.holding->access(piece.offset, piece.bytes);
    if (!access) co_return Errc::not_found;
    auto pulling = hl::with_stop(lent.pull(access->region()), access->stop());
    auto stoppable = hl::with_stop(std::move(pulling), piece.given_up.get_token());
    const Result<std::uint64_t> pulled = co_await stoppable;
    if (access->stop().stop_requested()) co_return Errc::not_found;
    if (!pulled) co_return pulled.error();
    co_return Result<void>();
}

}  // namespace

bool is_near(const hl::NodeRef& node, const na::Addr& address) { return node.transport_to(address) == "shm"; }

std::uint64_t WantedPieces::add(const std::shared_ptr<WantedPiece>& piece) {
    const std::lock_guard lock(mutex_);
    std::uint64_t key = secret_u64();
    while (!pieces_.emplace(key, piece).second) key = secret_u64();
    return key;
}

bool WantedPieces::remove(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    return pieces_.erase(key) == 0;
}

std::shared_ptr<WantedPiece> WantedPieces::begin(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto at = pieces_.find(key);
    if (at == pieces_.end()) return nullptr;
    std::shared_ptr<WantedPiece> piece = std::move(at->second);
    pieces_.erase(at);
    return piece;
}

std::size_t WantedPieces::size() const {
    const std::lock_guard lock(mutex_);
    return pieces_.size();
}

hl::Task<Result<void>> WantedPieces::answer(std::shared_ptr<WantedPieces> pieces, hl::Request<LentPiece> incoming) {
    const std::shared_ptr<WantedPiece> piece = pieces->begin(incoming->key);
    if (!piece) co_return Error(Errc::not_found, "no piece was asked for under that key, or not any more");
    const EndOfCopy end(*piece->ended);
    auto copying = copy_piece(*piece, incoming->memory);
    const Result<void> copied = co_await copying;
    piece->in_place = copied.ok();
    co_return copied;
}

hl::Task<Errc> fetch_piece(Lender lender, std::shared_ptr<WantedPieces> pieces, std::shared_ptr<Holding> holding,
                           std::uint64_t offset, std::uint64_t bytes) {
    const auto piece = std::make_shared<WantedPiece>();
    piece->holding = std::move(holding);
    piece->offset = offset;
    piece->bytes = bytes;
    const LendRequest request{lender.ticket, lender.total, offset, bytes, pieces->add(piece)};
    hl::CallOptions options;
    options.provider = lender.provider;
    options.stop = &lender.replaced;
    auto call = lender.node.call(lend_rpc, lender.address, request, options);
    (void)co_await call;  // what counts is whether the piece is in place
    if (!pieces->remove(request.key)) co_return Errc::again;
    piece->given_up.request_stop();
    const Errc ended = co_await wait_for(lender.node, piece->ended);
    if (ended != Errc::ok) co_return ended;
    co_return piece->in_place ? Errc::ok : Errc::again;
}

}  // namespace cinnabar::group
