// SPDX-License-Identifier: BSD-3-Clause
// The shared key of two sides, the proofs that both give of it when a session opens, and what signs the session's calls
// (docs/save-service.md, "Keys"). The key itself never travels. Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::files {

inline constexpr std::size_t key_bytes_min = 16;
inline constexpr std::size_t key_bytes_max = 4096;

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;  // HMAC-SHA256

// From the operating system. Aborts if it has no randomness.
[[nodiscard]] CINNABAR_API Nonce make_nonce() noexcept;

// 128 random bits that name a session; fresh for each login.
struct Token {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend auto operator<=>(const Token&, const Token&) = default;
};

class Secret;

// What one login is about, as both sides know it in the end.
struct Admission {
    Nonce client{};
    Nonce server{};
    Token token;
    std::uint64_t window_bytes = 0;
    std::uint32_t windows_max = 0;
};

class CINNABAR_API Key {
  public:
    // The bytes of the file but for one newline at the end.
    //   permission        others than the owner may read or write it, or it is neither ours nor root's
    //   invalid_argument  not a regular file, or not key_bytes_min to key_bytes_max long
    // and file_error.
    [[nodiscard]] static Result<Key> load(const std::string& path);
    // invalid_argument as above.
    [[nodiscard]] static Result<Key> from(std::string_view bytes);

    Key(Key&&) noexcept = default;
    Key& operator=(Key&&) noexcept = default;
    ~Key();  // wipes it

    // HMAC-SHA256 over both nonces: what the client shows in its login.
    [[nodiscard]] Proof prove_client(const Nonce& client, const Nonce& server) const noexcept;
    // Takes the same time whatever differs.
    [[nodiscard]] bool accepts_client(const Proof& proof, const Nonce& client, const Nonce& server) const noexcept;
    // What the server shows in its answer; covers the rest of the answer.
    [[nodiscard]] Proof prove_server(const Admission& admission) const noexcept;
    [[nodiscard]] bool accepts_server(const Proof& proof, const Admission& admission) const noexcept;
    // What signs the calls of the session. The token is fresh for each login, so a login that is sent again leads to
    // another secret.
    [[nodiscard]] Secret session_secret(const Nonce& client, const Nonce& server, const Token& token) const noexcept;

  private:
    explicit Key(std::vector<unsigned char> bytes) noexcept : bytes_(std::move(bytes)) {}
    std::vector<unsigned char> bytes_;
};

}  // namespace cinnabar::files
