// SPDX-License-Identifier: BSD-3-Clause
#include "crowd.hpp"

#include <utility>

namespace cinnabar::hostile {
namespace {

constexpr unsigned life_steps = 500;
constexpr unsigned looks_max = 100'000;

}  // namespace

Crowd::Crowd(std::vector<Place> places, na::Addr target, const Behaviour& behaviour)
    : target_(std::move(target)), behaviour_(behaviour) {
    for (Place& place : places) members_.push_back({std::move(place)});
}

void Crowd::come(Member& member) const {
    member.peer.reset();  // before its context has a successor
    member.peer = std::make_unique<RudePeer>(member.place.transport, member.place.context);
    member.peer->meet(target_);
    member.steps = 0;
    member.looks = 0;
    (void)member.peer->request(answered, {});  // the first message dials
}

void Crowd::step(Member& member) {
    if (!member.peer || member.steps == life_steps || member.looks == looks_max) come(member);
    const bool connected = member.peer->connected();
    if (connected) {
        behaviour_.step(*member.peer, ++member.steps);
        steps_.fetch_add(1, std::memory_order_relaxed);
    } else if (member.steps > 0) {  // it was cut off
        return come(member);
    } else {
        ++member.looks;
    }
    if (!connected || behaviour_.reads) member.peer->look();
}

void Crowd::step() {
    step(members_[next_]);
    next_ = (next_ + 1) % members_.size();
}

}  // namespace cinnabar::hostile
