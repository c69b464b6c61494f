// SPDX-License-Identifier: BSD-3-Clause
#include "crowd.hpp"

#include <utility>

namespace cinnabar::hostile {
namespace {

constexpr std::uint64_t life_frames = 4'000;
constexpr unsigned looks_max = 30'000;

}  // namespace

Crowd::Crowd(std::vector<Seat> seats, na::Addr target, const Behaviour& behaviour)
    : target_(std::move(target)), behaviour_(behaviour) {
    for (Seat& seat : seats) members_.push_back({std::move(seat)});
}

void Crowd::come(Member& member) const {
    member.peer.reset();  // before the context of the next peer is opened
    const auto sends = behaviour_.reads ? RudePeer::Sends::in_batches : RudePeer::Sends::at_once;
    member.peer = std::make_unique<RudePeer>(member.seat.transport, member.seat.context, sends);
    member.peer->meet(target_);
    member.steps = 0;
    member.looks = 0;
    member.frames = 0;
    (void)member.peer->request(answered, {});  // the first message dials
}

void Crowd::step(Member& member) {
    if (!member.peer || member.frames >= life_frames || member.looks == looks_max) come(member);
    const bool connected = member.peer->connected();
    if (!connected && member.steps > 0) return come(member);  // its session was ended
    if (connected) {
        behaviour_.step(*member.peer, ++member.steps);
        if (!std::exchange(member.began, true)) began_.fetch_add(1, std::memory_order_relaxed);
    }
    const std::uint64_t frames = member.peer->frames();
    member.looks = frames == member.frames ? member.looks + 1 : 0;
    member.frames = frames;
    if (!connected || behaviour_.reads) member.peer->look();
}

void Crowd::step() {
    step(members_[next_]);
    next_ = (next_ + 1) % members_.size();
}

}  // namespace cinnabar::hostile
