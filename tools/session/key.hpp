// SPDX-License-Identifier: BSD-3-Clause
// The shared key of --key-file, and the proofs that both sides give of it when a session opens (docs/save-service.md,
// "Keys"). The key itself never travels. Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

inline constexpr std::size_t key_bytes_min = 16;
inline constexpr std::size_t key_bytes_max = 4096;

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;  // HMAC-SHA256

// From the operating system. Aborts if it has no randomness.
[[nodiscard]] Nonce make_nonce() noexcept;

// Whose proof it is: without this a proof of one side could be sent back as that of the other.
enum class Prover : std::uint8_t { client, server };

class Key {
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

    // HMAC-SHA256 over who proves and both nonces.
    [[nodiscard]] Proof prove(Prover prover, const Nonce& client, const Nonce& server) const noexcept;
    // Takes the same time whatever differs.
    [[nodiscard]] bool accepts(const Proof& proof, Prover prover, const Nonce& client,
                               const Nonce& server) const noexcept;

  private:
    explicit Key(std::vector<unsigned char> bytes) noexcept : bytes_(std::move(bytes)) {}
    std::vector<unsigned char> bytes_;
};

}  // namespace cinnabar::tools
