// SPDX-License-Identifier: BSD-3-Clause
// The greeting that two contexts exchange on the handshake socket: the Hello, and the sender's fabric address; 312
// bytes (docs/wire-format-ofi.md, "Greeting"). Pure. The bytes are untrusted.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace cinnabar::ofi {

// The name of a session at one side. The peer puts it into each frame that it sends to that side.
struct SessionName {
    std::uint32_t index = 0;
    std::uint64_t check = 0;  // random, so that it cannot be guessed
    friend bool operator==(const SessionName&, const SessionName&) = default;
};

struct Greeting {
    static constexpr std::size_t wire_bytes = 312;
    static constexpr std::size_t address_bytes_max = 208;
    static constexpr std::size_t provider_bytes_max = 40;

    na::Hello hello;
    SessionName session;                                   // the sender's
    std::uint16_t address_bytes = 0;                       // of the sender's endpoint, in the provider's format
    std::array<std::byte, address_bytes_max> address{};    // padded with zeros
    std::array<char, provider_bytes_max> provider_name{};  // padded with zeros

    [[nodiscard]] std::string_view provider() const noexcept;
    void set_provider(std::string_view name) noexcept;

    [[nodiscard]] std::array<std::byte, wire_bytes> encode() const noexcept;
    // As Hello::decode. protocol: also an address that is too long; unsupported: also a reserved byte that is not zero.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::ofi
