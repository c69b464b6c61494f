// SPDX-License-Identifier: BSD-3-Clause
#include "context_base.hpp"

#include "frame.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

namespace cinnabar::rpc {
namespace {

// Retained messages are not available to other calls and requests, so only a small part of all messages is retained.
std::uint32_t messages_retained_of(const Engine& engine) noexcept {
    std::uint32_t most = 256;
    for (const auto& transport : engine.transports()) {
        const std::uint32_t slots = transport->limits().send_slots;
        if (slots != 0) most = std::min(most, slots / 16);
    }
    return most;
}

}  // namespace

ContextBase::ContextBase(Engine& owner, const Options& wanted)
    : engine(owner),
      options(wanted),
      frame_flags(wanted.checksums ? flag_checksum : std::uint16_t{0}),
      messages_retained(messages_retained_of(owner)) {}

std::recursive_mutex& ContextBase::after_close() noexcept {
    // Never destroyed, because contexts may outlive static objects.
    alignas(std::recursive_mutex) static std::array<std::byte, sizeof(std::recursive_mutex)> room;
    static auto* const turns = ::new (room.data()) std::recursive_mutex;
    return *turns;
}

void ContextBase::deliver_all() noexcept {
    while (na->trigger(64) != 0) {
    }
}

const std::shared_ptr<na::Transport>& ContextBase::transport_of(const na::Port& port) const noexcept {
    const auto& transports = engine.transports();
    if (transports.size() == 1) return transports.front();
    const na::Transport* wanted = &na->transport_of(port);
    return *std::find_if(transports.begin(), transports.end(), [&](const auto& t) { return t.get() == wanted; });
}

}  // namespace cinnabar::rpc
