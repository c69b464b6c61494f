// SPDX-License-Identifier: BSD-3-Clause
// The shared key of client and server, the proofs that both exchange when a session opens, and the secret that signs
// the session's calls (docs/save-service.md, "Keys"). The key itself is never sent. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/secret_bytes.hpp>
#include <cinnabar/files/attribute_precision.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::files {

inline constexpr std::size_t key_bytes_min = 16;
inline constexpr std::size_t key_bytes_max = 4096;

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;  // HMAC-SHA256

// Random bytes from the operating system. Aborts if it provides none.
[[nodiscard]] CINNABAR_API Nonce make_nonce() noexcept;

// 128 random bits that name a session; fresh for each login.
struct Token {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend auto operator<=>(const Token&, const Token&) = default;
};

class Secret;

// The parameters of one login, as both sides know them once it is complete.
struct Admission {
    Nonce client{};
    Nonce server{};
    Token token;
    std::uint64_t window_bytes = 0;
    std::uint32_t windows_max = 0;
    AttributePrecision precision{};
};

class CINNABAR_API Key {
  public:
    // Reads a key file; one newline at the end is not part of the key.
    //   permission        other users may read or write the file, or its owner is neither this user nor root
    //   invalid_argument  not a regular file, or the key is not key_bytes_min to key_bytes_max long
    // Also the errors of file_error().
    [[nodiscard]] static Result<Key> load(const std::string& path);
    // As in load(), one newline at the end is not part of the key. invalid_argument: the key is not key_bytes_min to
    // key_bytes_max long. out_of_memory.
    [[nodiscard]] static Result<Key> from(std::string_view bytes);

    // The proof that the client sends in its login: HMAC-SHA256 over both nonces.
    [[nodiscard]] Proof prove_client(const Nonce& client, const Nonce& server) const noexcept;
    // Verifies the client's proof in constant time.
    [[nodiscard]] bool accepts_client(const Proof& proof, const Nonce& client, const Nonce& server) const noexcept;
    // The proof that the server sends in its answer; it covers the other fields of the answer.
    [[nodiscard]] Proof prove_server(const Admission& admission) const noexcept;
    [[nodiscard]] bool accepts_server(const Proof& proof, const Admission& admission) const noexcept;
    // Derives the secret that signs the session's calls. Each login has a new token, so replaying a login leads to a
    // different secret.
    [[nodiscard]] Secret session_secret(const Nonce& client, const Nonce& server, const Token& token) const noexcept;

  private:
    explicit Key(SecretBytes bytes) noexcept : bytes_(std::move(bytes)) {}
    SecretBytes bytes_;
};

}  // namespace cinnabar::files
