// SPDX-License-Identifier: BSD-3-Clause
#include "slots.hpp"

#include "port.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::sim {
namespace {

constexpr unsigned no_slot_tries_max = 7;  // as often as a verbs queue pair retries by default
constexpr TimeUs no_slot_wait_us = 200;
constexpr std::byte after_use{0xdd};  // overwrites messages after delivery, so that views used too late show

}  // namespace

std::uint32_t Slots::slots_max() const noexcept { return port_.transport().options().receive_slots; }

void Slots::give_to_port(Packet packet) {
    if (packet.op != 0) packet.link->acknowledge(1 - packet.to, packet.op, Errc::ok);
    port_.push({.kind = Item::Kind::packet, .packet = std::move(packet)});
}

void Slots::take_in(Packet packet) {
    WorldState& world = port_.world();
    const bool strict = world.strict();
    const bool takes_slot = strict || packet.kind != Packet::Kind::notify;
    if (!strict && !blocked_.empty()) {
        blocked_.push_back(std::move(packet));
        return;
    }
    if (takes_slot && used_ >= slots_max()) {
        world.count_slot_miss();
        if (!strict) {
            blocked_.push_back(std::move(packet));
        } else if (++packet.tries > no_slot_tries_max) {
            packet.link->reset_both();
        } else {
            arrive_at(world.now_us() + no_slot_wait_us, EventKind::message, std::move(packet));
        }
        return;
    }
    if (takes_slot) ++used_;
    give_to_port(std::move(packet));
}

void Slots::freed() {
    CINNABAR_ASSERT(used_ > 0);
    --used_;
    while (!blocked_.empty()) {
        const bool takes_slot = blocked_.front().kind != Packet::Kind::notify;
        if (takes_slot && used_ >= slots_max()) return;
        if (takes_slot) ++used_;
        Packet packet = std::move(blocked_.front());
        blocked_.pop_front();
        give_to_port(std::move(packet));
    }
}

void Slots::hand_out(Packet& packet) {
    SimPeer* peer = packet.link->ends[packet.to].peer;
    const bool live = peer && peer->link == packet.link;
    const bool took_slot = port_.world().strict() || packet.kind != Packet::Kind::notify;
    port_.world().trace(EventKind::poll, 100 + static_cast<std::uint64_t>(packet.kind), packet.count);
    na::Receiver& receiver = port_.host().receiver();
    if (live && packet.kind == Packet::Kind::notify) {
        receiver.on_notify(*peer, static_cast<std::uint32_t>(packet.tag));
    } else if (live) {
        in_hand_ = &packet;
        na::Arrival arrival{{packet.bytes.get(), packet.count}, peer, packet.tag, &port_, &packet, 0};
        receiver.on_message(packet.kind == Packet::Kind::expected, arrival);
        if (!std::exchange(in_hand_, nullptr)) return;  // the arrival was kept, and holds the slot
        std::fill_n(packet.bytes.get(), packet.count, after_use);
    }
    if (took_slot) freed();
}

Errc Slots::keep(na::Arrival& arrival, na::Kept& out) noexcept {
    CINNABAR_ASSERT(in_hand_ && in_hand_ == arrival.token);
    out = na::Kept{arrival.bytes, &port_, in_hand_->bytes.release(), 0, false};
    in_hand_ = nullptr;
    return Errc::ok;
}

Errc Slots::detach(na::Kept& kept) noexcept {
    if (kept.detached || port_.closed()) return Errc::ok;
    const bool spare = spares_used_ < slots_max() / 4 && port_.world().random().below(2) == 0;
    if (!spare && copies_ >= slots_max()) return Errc::overloaded;
    std::byte* const moved = spare ? nullptr : new (std::nothrow) std::byte[kept.bytes.size()];
    if (!spare && !moved) return Errc::overloaded;
    kept.detached = true;
    kept.index = spare ? 1 : 0;
    ++(spare ? spares_used_ : copies_);
    if (moved) {
        std::memcpy(moved, kept.bytes.data(), kept.bytes.size());
        auto* old = static_cast<std::byte*>(kept.token);
        std::fill_n(old, kept.bytes.size(), after_use);
        delete[] old;
        kept.token = moved;
        kept.bytes = {moved, kept.bytes.size()};
    }
    freed();
    return Errc::ok;
}

void Slots::release(na::Kept& kept) noexcept {
    delete[] static_cast<std::byte*>(kept.token);
    if (kept.detached) {
        --(kept.index == 1 ? spares_used_ : copies_);
    } else if (!port_.closed()) {
        freed();
    }
    kept = {};
}

}  // namespace cinnabar::sim
