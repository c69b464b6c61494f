// SPDX-License-Identifier: BSD-3-Clause
// What signs the challenges of a server and the calls of a session.
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

// What is signed, as bytes. Numbers are little-endian; text has its length in front, so that no two lists of fields
// have the same bytes.
class MacText {
  public:
    // `label` says what the text is for; no label is the beginning of another one.
    explicit MacText(std::string_view label) : bytes_(label.begin(), label.end()) {}
    MacText& add(std::uint64_t number);
    MacText& add(const std::array<std::uint8_t, 32>& bytes);
    MacText& add(const Token& token) { return add(token.high).add(token.low); }
    MacText& add_text(std::string_view text);
    [[nodiscard]] std::span<const unsigned char> bytes() const noexcept { return bytes_; }

  private:
    std::vector<unsigned char> bytes_;
};

// 256 bits that never travel: those by which a server knows its challenges, and those that sign the calls of a session.
// One thread at a time.
class Secret {
  public:
    explicit Secret(const std::array<std::uint8_t, 32>& bytes) noexcept;
    [[nodiscard]] static Secret random() noexcept { return Secret(make_nonce()); }

    // HMAC-SHA256.
    [[nodiscard]] Proof sign(const MacText& text) const noexcept;
    // Takes the same time whatever differs.
    [[nodiscard]] bool accepts(const Proof& proof, const MacText& text) const noexcept;

  private:
    struct Free {
        void operator()(evp_mac_ctx_st* context) const noexcept;  // wipes it
    };
    std::unique_ptr<evp_mac_ctx_st, Free> context_;  // keyed once: making one costs more than a MAC
};

}  // namespace cinnabar::files
