// SPDX-License-Identifier: BSD-3-Clause
#include "link.hpp"

#include "port.hpp"

#include <utility>

namespace cinnabar::sim {
namespace {

constexpr TimeUs not_up_wait_us = 200;

}  // namespace

void Link::through(TimeUs when, EventKind kind, std::function<void()> run) {
    world.schedule(when, kind, [link = shared_from_this(), kind, run = std::move(run)]() mutable {
        const std::string& a = link->ends[0].host;
        const std::string& b = link->ends[1].host;
        if (link->world.cut(a, b) != 0) {
            link->world.hold(a, b, kind, std::move(run));
        } else {
            run();
        }
    });
}

void Link::reset(unsigned end) {
    End& side = ends[end];
    side.lost_early |= !side.ever_up;
    if (!side.up || !side.port) return;
    side.up = false;
    side.port->push({.kind = Item::Kind::reset, .link = shared_from_this(), .end = end, .why = Errc::peer_lost});
}

void Link::reset_both() {
    reset(0);
    reset(1);
}

void Link::reset_later(unsigned end) {
    through(world.now_us() + world.travel_us(0), EventKind::reset,
            [link = shared_from_this(), end] { link->reset(end); });
}

void Link::close(unsigned own_end) {
    End& own = ends[own_end];
    own.up = false;
    own.peer = nullptr;
    own.port = nullptr;
    reset_later(1 - own_end);
}

void Link::watch_cut(unsigned end, std::uint64_t cut, Microseconds keepalive) {
    if (keepalive.count() == 0) return;
    world.schedule(after(world.now_us(), keepalive), EventKind::keepalive, [link = shared_from_this(), end, cut] {
        const std::string& a = link->ends[0].host;
        const std::string& b = link->ends[1].host;
        if (link->world.cut(a, b) != cut || !link->ends[end].up) return;
        link->reset(end);
        // The other end is reset after the partition has healed.
        link->world.hold(a, b, EventKind::reset, [link, end] { link->reset(1 - end); });
    });
}

void Link::acknowledge(unsigned to, std::uint64_t op, Errc result) {
    if (!ends[0].port && !ends[1].port) return;
    TimeUs when = world.now_us() + world.travel_us(0);
    if (world.strict()) when += world.random().below(500);
    through(when, EventKind::acknowledged, [link = shared_from_this(), to, op, result] {
        SimPort* origin = link->port_up(to);
        if (!origin || !origin->ops().find(op)) return;
        origin->push({.kind = Item::Kind::op_done, .op = op, .why = result});
        // A refused access puts the queue pair into the error state.
        if (link->world.strict() && result != Errc::ok) link->reset_both();
    });
}

void arrive(Packet packet) {
    Link& link = *packet.link;
    Link::End& end = link.ends[packet.to];
    if (end.up && end.port) return end.port->slots().take_in(std::move(packet));
    // The receiving end is down. Either it is gone for good; or, under rdma_strict, where messages are not ordered, the
    // packet has overtaken the answer to the dial that brings this end up; the packet then arrives again later.
    if (!link.port_up(1 - packet.to) || end.ever_up || !link.world.strict()) return;
    arrive_at(link.world.now_us() + not_up_wait_us, EventKind::message, std::move(packet));
}

void arrive_at(TimeUs when, EventKind kind, Packet packet) {
    const LinkPtr link = packet.link;
    auto shared = std::make_shared<Packet>(std::move(packet));
    link->through(when, kind, [shared] { arrive(std::move(*shared)); });
}

}  // namespace cinnabar::sim
