// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace cinnabar::seeds {
namespace {

// More rounds than any burst needs: if there are more, something spins while virtual time stands still.
constexpr std::uint64_t rounds_at_once_max = 100'000;

constexpr TimeUs real_run_max_us = 20'000;
constexpr TimeUs real_limit_us = 20'000'000;

Climate real_climate(std::uint64_t seed, bool liar) {
    Climate climate(seed, sim::Profile::friendly);
    climate.be_real();
    climate.liar = liar;
    return climate;
}

}  // namespace

Mesh::Mesh(std::uint64_t seed, sim::Profile profile) : Mesh(seed, Climate(seed, profile), nullptr) {}

Mesh::Mesh(std::uint64_t seed, support::NetworkKind real, bool liar)
    : Mesh(seed, real_climate(seed, liar), std::make_unique<support::Network>(real)) {}

Mesh::Mesh(std::uint64_t seed, const Climate& climate, std::unique_ptr<support::Network> network)
    : climate_(climate),
      random_(seed ^ 0x5eed),
      network_(std::move(network)),
      world_(network_ ? nullptr : sim::World::make(climate_.world)),
      ledger_(*this),
      calls_(*this) {
    for (unsigned i = 0; i < climate_.processes; ++i) {
        const bool listens = i < 2 || !random_.chance(4);
        processes_.push_back(std::make_unique<Process>(*this, std::string(1, static_cast<char>('a' + i)), listens));
        processes_.back()->start();
    }
    if (climate_.liar) liar_ = std::make_unique<Liar>(*this);
}

Mesh::~Mesh() {
    liar_.reset();
    processes_.clear();
}

std::shared_ptr<na::Transport> Mesh::open(const std::string& name, const na::TransportOptions& options,
                                          na::Incarnation claimed) {
    if (network_) return network_->open(name, options).value();
    if (claimed != 0) return world_->open_as(name, options, claimed).value();
    return world_->open(name, options).value();
}

bool Mesh::round() {
    bool busy = false;
    if (liar_) liar_->look();
    for (const auto& process : processes_) {
        if (!process->runs()) continue;
        if (!prompt_ && random_.chance(8)) {
            busy = true;
            continue;
        }
        const auto callbacks = prompt_ ? 64 : 1 + static_cast<unsigned>(random_.below(16));
        busy |= process->context().progress(Microseconds(0)) != 0;
        busy |= process->context().trigger(callbacks) != 0;
    }
    return busy;
}

TimeUs Mesh::next_us() const {
    TimeUs next = world_->next_event_us();
    for (const auto& process : processes_) {
        if (process->runs()) next = std::min(next, process->context().na().next_timer_us());
    }
    return next;
}

bool Mesh::stuck() noexcept {
    if (std::exchange(rounds_at_, now_us()) != now_us()) rounds_ = 0;
    if (++rounds_ < rounds_at_once_max) return false;
    ADD_FAILURE() << "busy for ever while time stands still at " << now_us();
    return true;
}

void Mesh::run_for(TimeUs span) {
    if (network_) {
        const TimeUs last = now_us() + std::min(span, real_run_max_us);
        do (void)round();
        while (now_us() < last);
        return;
    }
    const TimeUs end = now_us() + span;
    while (!stuck()) {
        if (round()) continue;
        if (now_us() >= end) return;
        world_->run_to(std::min(next_us(), end));
    }
}

bool Mesh::run_until(const std::function<bool()>& done, TimeUs limit) {
    if (network_) {
        const TimeUs last = now_us() + std::min(limit, real_limit_us);
        while (!done()) {
            if (now_us() >= last) return false;
            (void)round();
        }
        return true;
    }
    const TimeUs end = now_us() + limit;
    while (!stuck()) {
        if (done()) return true;
        if (round()) continue;
        if (done()) return true;
        const TimeUs next = next_us();
        if (next == time_never || next > end) return false;
        world_->run_to(next);
    }
    return false;
}

}  // namespace cinnabar::seeds
