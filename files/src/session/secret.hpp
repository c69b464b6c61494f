// SPDX-License-Identifier: BSD-3-Clause
// Secrets and MACs for the challenges of a server and the calls of a session.
#pragma once

#include <cinnabar/files/key.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

struct evp_mac_ctx_st;

namespace cinnabar::files {

// The bytes to be signed. Numbers are little-endian; text is prefixed with its length, so that different lists of
// fields never have the same bytes.
class MacText {
  public:
    // `label` identifies the kind of text; no label may be a prefix of another one.
    explicit MacText(std::string_view label) : bytes_(label.begin(), label.end()) {}
    MacText& add(std::uint64_t number);
    MacText& add(const std::array<std::uint8_t, 32>& bytes);
    MacText& add(const Token& token) { return add(token.high).add(token.low); }
    MacText& add_text(std::string_view text);
    [[nodiscard]] std::span<const unsigned char> bytes() const noexcept { return bytes_; }

  private:
    std::vector<unsigned char> bytes_;
};

// A 256-bit secret that is never sent. The server tags its challenges with one secret, and both sides sign a session's
// calls with another. One thread at a time.
class Secret {
  public:
    explicit Secret(const std::array<std::uint8_t, 32>& bytes) noexcept;
    [[nodiscard]] static Secret random() noexcept { return Secret(make_nonce()); }

    // HMAC-SHA256.
    [[nodiscard]] Proof sign(const MacText& text) const noexcept;
    // Verifies a proof in constant time.
    [[nodiscard]] bool accepts(const Proof& proof, const MacText& text) const noexcept;

  private:
    struct Free {
        void operator()(evp_mac_ctx_st* context) const noexcept;  // wipes the secret
    };
    std::unique_ptr<evp_mac_ctx_st, Free> context_;  // keyed once, because creating a context costs more than a MAC
};

}  // namespace cinnabar::files
