// SPDX-License-Identifier: BSD-3-Clause
// The identity of a context (incarnation and context id), and the Hellos that state it.
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

// The identity that a Hello claims for its sender.
[[nodiscard]] inline Identity sender_of(const Hello& hello) noexcept { return {hello.incarnation, hello.context}; }

// A Hello from the context `host` to the context `to`; incarnation 0 means any.
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

// Returns the reason in a reject. A code that a peer may not send becomes `protocol`, so that no operation fails with a
// meaningless code.
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
