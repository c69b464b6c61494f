// SPDX-License-Identifier: BSD-3-Clause
#include "offers.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/checksum.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

Error checksum_error() { return Error(Errc::bad_checksum, "a chunk did not arrive as it was sent"); }

// Copies from the offered memory to the member's.
hl::Task<Result<ChunkAnswer>> give(const Offer& offer, const ChunkRequest& asked) {
    const std::uint64_t bytes = asked.memory.size();
    auto waiting = offer.holding->wait_for_bytes(asked.offset, bytes);
    const Errc waited = co_await waiting;
    if (waited != Errc::ok) co_return waited;
    auto access = offer.holding->access(asked.offset, bytes);
    if (!access) co_return Errc::not_found;
    ChunkAnswer answer;
    if (offer.terms.checksum) answer.checksum = bulk::checksum_of(access->region());
    auto moving = hl::with_stop(asked.memory.push(access->region()), access->stop());
    const Result<std::uint64_t> moved = co_await moving;
    if (access->stop().stop_requested()) co_return Errc::not_found;
    if (!moved) co_return moved.error();
    offer.holding->note_progress();
    co_return answer;
}

// Copies from the member's memory to the offered memory.
hl::Task<Result<ChunkAnswer>> take(const Offer& offer, const ChunkRequest& asked) {
    auto access = offer.holding->access(asked.offset, asked.memory.size());
    if (!access) co_return Errc::not_found;
    auto moving = hl::with_stop(asked.memory.pull(access->region()), access->stop());
    const Result<std::uint64_t> moved = co_await moving;
    if (access->stop().stop_requested()) co_return Errc::not_found;
    if (!moved) co_return moved.error();
    if (offer.terms.checksum && bulk::checksum_of(access->region()) != asked.checksum) co_return checksum_error();
    co_return ChunkAnswer{};
}

Result<void> check_range(const Offer& offer, std::uint64_t total, std::uint64_t offset, std::uint64_t bytes) {
    if (total != offer.terms.bytes)
        return Error(Errc::invalid_argument, "the two sides expect different sizes of the memory");
    if (bytes == 0 || bytes > chunk_bytes_max || offset > total || bytes > total - offset)
        return Error(Errc::invalid_argument, "no such chunk");
    return {};
}

hl::Task<Result<ChunkAnswer>> move(const Offer& offer, const ChunkRequest& asked) {
    if (auto sound = check_range(offer, asked.total, asked.offset, asked.memory.size()); !sound)
        co_return sound.error();
    auto moving = offer.terms.way == Way::to_members ? give(offer, asked) : take(offer, asked);
    co_return co_await moving;
}

// Lends a piece of the offered memory to the member at `to` while a call to it runs.
hl::Task<Result<void>> lend(const Offer& offer, const LendRequest& asked, hl::NodeRef node, const na::Addr& to,
                            rpc::ProviderId provider) {
    if (auto sound = check_range(offer, asked.total, asked.offset, asked.bytes); !sound) co_return sound.error();
    // Terms::lends has told the member whether it may ask for pieces. This is checked again, because the member may
    // know this source from a later delivery, or may lie.
    if (offer.terms.way != Way::to_members || offer.terms.checksum || !offer.holding->can_lend())
        co_return Error(Errc::unsupported, "pieces of this memory are not lent: ask for chunks");
    const auto access = offer.holding->access(asked.offset, asked.bytes);
    if (!access) co_return Errc::not_found;
    const LentPiece piece{asked.key, hl::Bulk(access->region(), na::Access::read)};
    hl::CallOptions options;
    options.provider = provider;
    auto call = node.call(lent_rpc, to, piece, options);
    auto lending = hl::with_stop(std::move(call), access->stop());
    const Result<void> lent = co_await lending;
    if (access->stop().stop_requested()) co_return Errc::not_found;
    if (!lent) co_return lent.error();
    offer.holding->note_progress();
    co_return lent;
}

}  // namespace

hl::Task<Result<ChunkAnswer>> Offers::answer(std::shared_ptr<Offers> offers, hl::Request<ChunkRequest> incoming) {
    const ChunkRequest& asked = *incoming;
    const auto entered = offers->enter(asked.ticket, asked.memory.size());
    if (!entered) co_return entered.error();
    const std::shared_ptr<Offer> offer = *entered;
    auto moving = move(*offer, asked);
    const Result<ChunkAnswer> moved = co_await moving;
    offers->leave(*offer);
    co_return moved;
}

hl::Task<Result<void>> Offers::answer_lend(std::shared_ptr<Offers> offers, hl::Request<LendRequest> incoming) {
    const LendRequest& asked = *incoming;
    const auto entered = offers->enter(asked.ticket, asked.bytes);
    if (!entered) co_return entered.error();
    const std::shared_ptr<Offer> offer = *entered;
    auto lending = lend(*offer, asked, incoming.node(), incoming.source(), incoming.provider());
    const Result<void> lent = co_await lending;
    offers->leave(*offer);
    co_return lent;
}

Result<std::shared_ptr<Offer>> Offers::enter(std::uint64_t ticket, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = offers_.find(ticket);
    if (at == offers_.end()) return Error(Errc::not_found, "nothing is offered under that ticket, or not any more");
    Offer& offer = *at->second;
    if (offer.in_flight >= window_max)
        return Error(Errc::overloaded, "a member may have 16 chunks of one call in flight at a time");
    if (offer.bytes_asked / 2 > offer.terms.bytes + chunk_bytes_max)
        return Error(Errc::overloaded, "a member gets its part of the memory at most twice in one call");
    offer.bytes_asked += std::min<std::uint64_t>(bytes, chunk_bytes_max);  // more is refused, and must not wrap around
    ++offer.in_flight;
    return at->second;
}

void Offers::leave(Offer& offer) {
    const std::lock_guard lock(mutex_);
    --offer.in_flight;
}

void Offers::forget(Offer& offer) {
    {
        const std::lock_guard lock(mutex_);
        offers_.erase(offer.ticket);
    }
    offer.holding->end_offer(offer);
}

void Offers::Kept::end() {
    if (!offer_) return;
    offers_->forget(*offer_);
    offer_ = nullptr;
}

Offers::Kept Offers::open(const std::shared_ptr<Offers>& offers, std::shared_ptr<Holding> holding, Terms terms,
                          std::uint64_t ticket) {
    auto offer = std::make_shared<Offer>();
    offer->ticket = ticket != 0 ? ticket : secret_u64();
    offer->terms = terms;
    offer->holding = std::move(holding);
    {
        const std::lock_guard lock(offers->mutex_);
        while (!offers->offers_.emplace(offer->ticket, offer).second) {
            if (ticket != 0) return {};
            offer->ticket = secret_u64();
        }
    }
    offer->holding->add_offer(offer);
    return {offers, std::move(offer)};
}

void Offers::moved(std::uint64_t ticket) {
    std::shared_ptr<Offer> offer;
    {
        const std::lock_guard lock(mutex_);
        const auto at = offers_.find(ticket);
        if (at == offers_.end()) return;
        offer = at->second;
    }
    offer->holding->end_offer(*offer);
}

std::size_t Offers::size() const {
    const std::lock_guard lock(mutex_);
    return offers_.size();
}

Result<void> Offers::serve(const std::shared_ptr<Offers>& offers, hl::NodeRef node, rpc::ProviderId provider) {
    const std::lock_guard lock(offers->serving_mutex_);
    if (offers->closed_) return Error(Errc::closed, "this process has left the group");
    if (offers->serving_) return {};
    const hl::WithProvider by = hl::provider(provider);
    CINNABAR_TRY_VOID(node.serve(
        chunk_rpc, [offers](hl::Request<ChunkRequest> r) { return answer(offers, std::move(r)); }, by));
    offers->serving_ = true;
    CINNABAR_TRY_VOID(node.serve(
        lend_rpc, [offers](hl::Request<LendRequest> r) { return answer_lend(offers, std::move(r)); }, by));
    CINNABAR_TRY_VOID(node.serve(
        lent_rpc,
        [wanted = offers->wanted_](hl::Request<LentPiece> r) { return WantedPieces::answer(wanted, std::move(r)); },
        by));
    return node.serve(
        moved_message, [offers](std::uint64_t ticket) { offers->moved(ticket); }, by);
}

void Offers::withdraw(hl::NodeRef node, rpc::ProviderId provider) noexcept {
    const std::lock_guard lock(serving_mutex_);
    closed_ = true;
    if (!std::exchange(serving_, false)) return;
    (void)node.withdraw(chunk_rpc, provider);
    (void)node.withdraw(lend_rpc, provider);
    (void)node.withdraw(lent_rpc, provider);
    (void)node.withdraw(moved_message, provider);
}

}  // namespace cinnabar::group
