// SPDX-License-Identifier: BSD-3-Clause
// The greeting on the socket at which two contexts meet: the Hello, and where and how each is reached on the fabric.
// 312 bytes, docs/wire-format-ofi.md, "Greeting". Pure; the bytes are hostile input.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/hello.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace cinnabar::ofi {

// Names a session in messages for the sender of this.
struct SessionName {
    std::uint32_t index = 0;
    std::uint64_t check = 0;  // random: cannot be guessed
    friend bool operator==(const SessionName&, const SessionName&) = default;
};

struct Greeting {
    static constexpr std::size_t wire_bytes = 312;
    static constexpr std::size_t address_bytes_max = 208;
    static constexpr std::size_t provider_bytes_max = 40;

    na::Hello hello;
    SessionName session;                                   // of the sender
    std::uint16_t address_bytes = 0;                       // of its endpoint, in the provider's own form
    std::array<std::byte, address_bytes_max> address{};    // zeros behind it
    std::array<char, provider_bytes_max> provider_name{};  // zeros behind it

    [[nodiscard]] std::string_view provider() const noexcept;
    void set_provider(std::string_view name) noexcept;

    [[nodiscard]] std::array<std::byte, wire_bytes> encode() const noexcept;
    // As Hello::decode; protocol: also an address that is longer than its room; unsupported: also a byte that is to be
    // zero.
    [[nodiscard]] static Errc decode(ConstBytes in, Greeting& out) noexcept;
};

}  // namespace cinnabar::ofi
