// SPDX-License-Identifier: BSD-3-Clause
// Which context of which process, and the Hellos that say so.
#pragma once

#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>

namespace cinnabar::na {

struct Identity {
    Incarnation incarnation = 0;
    ContextId context = 0;
    friend auto operator<=>(const Identity&, const Identity&) = default;
};

// Who sent a Hello.
[[nodiscard]] inline Identity sender_of(const Hello& hello) noexcept { return {hello.incarnation, hello.context}; }

// A Hello of the context `host`, for `to`; its incarnation may be 0: anybody.
[[nodiscard]] inline Hello make_hello(HelloKind kind, const Transport& transport, const PortHost& host,
                                      const Identity& to) noexcept {
    Hello hello;
    hello.kind = kind;
    hello.incarnation = transport.incarnation();
    hello.peer_incarnation = to.incarnation;
    hello.context = host.context_id();
    hello.peer_context = to.context;
    hello.message_bytes_max = static_cast<std::uint32_t>(transport.limits().message_bytes_max);
    hello.credits = static_cast<std::uint16_t>(std::min<std::uint32_t>(host.initial_credits(), 0xffff));
    return hello;
}

// Why a reject says no; protocol for what an answer may not say, which would reach the operations as nonsense.
[[nodiscard]] inline Errc rejection(const Hello& answer) noexcept {
    switch (const auto code = static_cast<Errc>(answer.reason); code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::overloaded:
        case Errc::permission:
        case Errc::shutting_down:
        case Errc::unsupported:
            return code;
        default:
            return Errc::protocol;
    }
}

}  // namespace cinnabar::na
