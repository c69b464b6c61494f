// SPDX-License-Identifier: BSD-3-Clause
#include "ops.hpp"

#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <new>

namespace cinnabar::sim {
namespace {

constexpr unsigned completions_per_poll = 256;

}  // namespace

SimOp& Ops::add(na::Op& op, SimPeer& peer) {
    auto& sim_op = na::make_posted<SimOp>(op);
    sim_op.id = port_.world().next_id();
    peer.waiting.push_back(sim_op);
    return sim_op;
}

void Ops::launch(SimOp& sim_op, SimPeer& peer) {
    peer.waiting.remove(sim_op);
    peer.flying.push_back(sim_op);
    sim_op.state = SimOp::State::flying;
    flying_.emplace(sim_op.id, &sim_op);
}

SimOp* Ops::find(std::uint64_t id) noexcept {
    const auto found = flying_.find(id);
    return found == flying_.end() ? nullptr : found->second;
}

void Ops::finish(SimOp& sim_op, Errc result) noexcept {
    auto& peer = static_cast<SimPeer&>(*sim_op.op->peer);
    CINNABAR_ASSERT(sim_op.state != SimOp::State::done);
    if (sim_op.state == SimOp::State::waiting) {
        peer.waiting.remove(sim_op);
    } else {
        peer.flying.remove(sim_op);
        flying_.erase(sim_op.id);
    }
    sim_op.state = SimOp::State::done;
    sim_op.result = result;
    done_.push_back(sim_op);
    port_.set_idle_until(0);
}

void Ops::finish_all(SimPeer& peer, Errc result) noexcept {
    while (SimOp* sim_op = peer.flying.front()) finish(*sim_op, result);
    while (SimOp* sim_op = peer.waiting.front()) finish(*sim_op, result);
}

void Ops::finish_canceled(SimPeer& peer) noexcept {
    for (SimOp* sim_op = peer.flying.front(); sim_op;) {
        SimOp* const next = decltype(peer.flying)::next(*sim_op);
        if (sim_op->op->cancel_asked) finish(*sim_op, Errc::canceled);
        sim_op = next;
    }
}

void Ops::cancel(na::Op& op) noexcept {
    SimOp& sim_op = *std::launder(reinterpret_cast<SimOp*>(op.private_bytes));
    if (sim_op.state == SimOp::State::done) return;
    const bool recalled = sim_op.state == SimOp::State::waiting || !port_.world().strict() || port_.dead();
    if (recalled) finish(sim_op, Errc::canceled);
}

unsigned Ops::complete_some() noexcept {
    return na::complete_some(done_, completions_per_poll, [this](SimOp& ended) {
        port_.world().trace(EventKind::poll, static_cast<std::uint64_t>(ended.op->kind),
                            static_cast<std::uint64_t>(ended.result) << 48 | ended.id);
        port_.host().complete(*ended.op, ended.result);
    });
}

void Ops::complete_rest() noexcept {
    while (SimOp* sim_op = done_.pop_front()) port_.host().complete(*sim_op->op, sim_op->result);
}

}  // namespace cinnabar::sim
