// SPDX-License-Identifier: BSD-3-Clause
// The seal of a grant, which only the node that shared the memory can make. Pure.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/same_secret.hpp>
#include <cinnabar/base/siphash.hpp>
#include <cinnabar/hl/remote_token.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace cinnabar::hl {

[[nodiscard]] inline std::uint64_t seal_of(const SipKey& key, const RemoteGrant& grant) noexcept {
    const std::array<std::uint64_t, 6> sealed{grant.node,
                                              grant.version,
                                              grant.first,
                                              grant.bytes,
                                              std::uint64_t{grant.slot} << 32 | grant.lease,
                                              static_cast<std::uint64_t>(grant.access)};
    return siphash(key, std::as_bytes(std::span(sealed)));
}

[[nodiscard]] inline bool is_sealed_by(const SipKey& key, const RemoteGrant& grant) noexcept {
    return same_secret(seal_of(key, grant), grant.seal);
}

}  // namespace cinnabar::hl
