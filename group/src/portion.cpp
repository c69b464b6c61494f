// SPDX-License-Identifier: BSD-3-Clause
#include "bulk_terms.hpp"
#include "portion_state.hpp"

#include <cinnabar/group/portion.hpp>
#include <cinnabar/hl/node.hpp>

namespace cinnabar::group {
namespace {

Result<bulk::Region> exposed(Bytes memory) {
    if (memory.empty()) return bulk::Region();
    return bulk::Region::expose(memory, na::Access::read_write);
}
Result<bulk::Region> exposed(ConstBytes memory) {
    if (memory.empty()) return bulk::Region();
    return bulk::Region::expose(memory);
}

hl::Task<Result<void>> move_plain(std::shared_ptr<PortionState> state, Result<bulk::Region> region, Way way) {
    if (!region) co_return region.error();
    auto moving = PortionState::move(std::move(state), *std::move(region), way);
    co_return co_await moving;
}

}  // namespace

std::uint64_t Portion::bytes() const noexcept { return state_->terms().bytes; }

hl::Task<Result<void>> Portion::receive(bulk::Region into) const {
    return PortionState::move(state_, std::move(into), Way::to_members);
}
hl::Task<Result<void>> Portion::receive(Bytes into) const { return move_plain(state_, exposed(into), Way::to_members); }
hl::Task<Result<void>> Portion::send(bulk::Region from) const {
    return PortionState::move(state_, std::move(from), Way::from_members);
}
hl::Task<Result<void>> Portion::send(ConstBytes from) const {
    return move_plain(state_, exposed(from), Way::from_members);
}

Result<hl::Buffer> Portion::buffer() const {
    return state_->node().buffers().take(static_cast<std::size_t>(bytes()), state_->source());
}

PortionState::PortionState(Asking asking, std::shared_ptr<Offers> offers)
    : asking_(std::move(asking)),
      offers_(std::move(offers)),
      holding_(std::make_shared<Holding>(asking_.node, asking_.terms.bytes, asking_.terms.chunk_bytes)),
      at_caller_(false) {
    asking_.wanted = offers_->wanted();
}

PortionState::PortionState(Asking asking, bulk::Region region, std::shared_ptr<Offers> offers)
    : asking_(std::move(asking)),
      offers_(std::move(offers)),
      holding_(std::make_shared<Holding>(asking_.node, asking_.terms.bytes, asking_.terms.chunk_bytes)),
      at_caller_(true),
      local_(std::move(region)) {
    holding_->hold_all(local_);
}

bool PortionState::lends() const {
    return terms().way == Way::to_members && !terms().checksum && terms().bytes >= lent_portion_min &&
           holding_->can_lend();
}

Offers::Kept PortionState::offer() const { return Offers::open(offers_, holding_, asking_.terms); }

Result<void> PortionState::admit(const bulk::Region& region, Way way) {
    if (way != terms().way)
        return Error(Errc::permission, way == Way::to_members
                                           ? "the call gathers: send() is for its portions"
                                           : "the call does not gather: receive() is for its portions");
    if (region.bytes() != terms().bytes)
        return Error(Errc::invalid_argument, "the memory does not have the size of the portion; see Portion::bytes()");
    CINNABAR_TRY_VOID(check_summed(region, terms().checksum));
    const na::Access need = way == Way::to_members ? na::Access::write : na::Access::read;
    if (region && !na::allows(region.access(), need))
        return Error(Errc::permission, "the region does not allow what the portion needs it for");
    if (begun_.exchange(true)) return Error(Errc::busy, "a portion moves once");
    if (holding_->taken_back()) return Error(Errc::closed, "a portion moves while its handler runs");
    return {};
}

hl::Task<Result<void>> PortionState::move(std::shared_ptr<PortionState> state, bulk::Region region, Way way) {
    const Result<void> admitted = state->admit(region, way);
    if (!admitted || state->terms().bytes == 0) co_return admitted;
    hl::Task<Result<void>> moving = receive_and_give(state, region);
    if (state->at_caller_) {
        const bool to = way == Way::to_members;
        moving = copy_region(state->asking_, state->offers_, to ? state->local_ : region, to ? region : state->local_);
    } else if (way == Way::from_members) {
        moving = move_chunks(state->asking_, region, nullptr);
    }
    co_return co_await moving;
}

hl::Task<Result<void>> PortionState::receive_and_give(std::shared_ptr<PortionState> state, bulk::Region region) {
    const std::shared_ptr<Holding> holding = state->holding_;
    holding->begin(region);
    auto moving = move_chunks(state->asking_, region, holding);
    const Result<void> moved = co_await moving;
    if (moved) {
        auto waiting = holding->wait_for_takers();
        co_await waiting;
    }
    holding->take_back();
    co_await holding->untouched();
    co_return moved;
}

hl::Task<void> PortionState::handler_ended(std::shared_ptr<PortionState> state) {
    if (state->at_caller_) co_return;
    state->holding_->take_back();
    co_await state->holding_->untouched();
}

hl::Task<void> PortionState::call_ended(std::shared_ptr<PortionState> state) {
    state->holding_->take_back();
    co_await state->holding_->untouched();
}

}  // namespace cinnabar::group
