// SPDX-License-Identifier: BSD-3-Clause
// How a session wakes its peer, and asks to be woken: by the bell of a context, by a flag, or by the socket.
#include "full_barrier.hpp"
#include "local_socket.hpp"
#include "session.hpp"

#include <unistd.h>

namespace cinnabar::shm {
namespace {

constexpr std::uint64_t bell_step = 4;  // between the numbers that arm the bells
constexpr std::uint64_t bell_mask = bell_step - 1;

bool asks_for(Session::Bell bell, std::uint64_t armed) noexcept {
    return (armed & bell_mask) == static_cast<std::uint64_t>(bell);
}

// Wakes the peer as it wants to be woken: by the bell of its context, or by the socket.
void ring_bell(const Channel& channel, std::uint64_t armed) noexcept {
    const std::uint64_t one = 1;
    const bool for_context = asks_for(Session::Bell::context, armed);
    if (!for_context || !channel.bell || ::write(channel.bell.get(), &one, sizeof one) != sizeof one) {
        ring_socket(channel.socket.get());
    }
}

}  // namespace

void Session::arm(Bell bell) noexcept {
    arms_ += bell_step;
    armed_ = arms_ | static_cast<std::uint64_t>(bell);
    reader_.header().armed.store(armed_, std::memory_order_relaxed);
}

void Session::await_room() noexcept { writer_.header().room_wanted.store(++room_asked_, std::memory_order_relaxed); }

void Session::announce() noexcept {
    const std::uint64_t armed = writer_.header().armed.load(std::memory_order_relaxed);
    if (armed == 0) return;
    // Raises the flag each time, even if it is raised already: the peer may have lowered the flag by now, and have read
    // the ring before this record was in it.
    if (asks_for(Bell::flag, armed) && channel_.peer_flag) return channel_.peer_flag.raise();
    if (armed == rung_) return;
    rung_ = armed;
    ring_bell(channel_, armed);
}

void Session::give_room_back() noexcept {
    reader_.give_back();
    // Before this barrier, room is given back; after it, this checks whether the peer waits for room. Pairs with the
    // barrier of ShmPort::prepare_wait().
    full_barrier();
    const std::uint64_t wanted = reader_.header().room_wanted.load(std::memory_order_relaxed);
    if (wanted == room_served_) return;
    room_served_ = wanted;
    announce();
}

}  // namespace cinnabar::shm
