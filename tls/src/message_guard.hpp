// SPDX-License-Identifier: BSD-3-Clause
// Protects messages that are not sent through a TLS connection, by AES-128-GCM. The keys are exported from a TLS
// connection (RFC 8446, section 7.5), so only the two ends of that connection have them. docs/wire-format-ofi.md,
// "Sealed frames and chunks". Owner of the context only.
#pragma once

#include "openssl.hpp"
#include "replay_window.hpp"

#include <cinnabar/na/session/message_guard.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace cinnabar::tls {

class TlsMessageGuard final : public na::MessageGuard {
  public:
    // Makes a guard that replaces each key after `key_update_bytes`. Requires: the handshake of `connection` is over,
    // and `connection` outlives this object. Null: out of memory.
    [[nodiscard]] static std::unique_ptr<TlsMessageGuard> make(SSL* connection, bool dialled,
                                                               std::uint64_t key_update_bytes) noexcept;

    // na::MessageGuard
    [[nodiscard]] bool seal(Kind kind, ConstBytes head, ConstBytes from, std::byte* to) noexcept override;
    [[nodiscard]] bool open(Kind kind, ConstBytes head, Bytes sealed) noexcept override;

  private:
    static constexpr std::size_t kinds = 2;
    static constexpr std::size_t nonce_bytes = 12;
    using Nonce = std::array<unsigned char, nonce_bytes>;
    using Epoch = std::uint16_t;

    // One key and its epoch: the number of the key among those of one direction and kind.
    class Key {
      public:
        [[nodiscard]] bool is(Epoch epoch) const noexcept { return cipher_ && epoch_ == epoch; }
        [[nodiscard]] bool set(SSL* connection, bool of_dialler, Kind kind, Epoch epoch, bool seals) noexcept;
        [[nodiscard]] bool encrypt(std::uint64_t number, ConstBytes head, ConstBytes from, std::byte* to) noexcept;
        [[nodiscard]] bool decrypt(std::uint64_t number, ConstBytes head, Bytes bytes, std::byte* tag) noexcept;

      private:
        [[nodiscard]] Nonce nonce_of(std::uint64_t number) const noexcept;
        struct Free {
            void operator()(EVP_CIPHER_CTX* cipher) const noexcept { openssl().EVP_CIPHER_CTX_free(cipher); }
        };
        std::unique_ptr<EVP_CIPHER_CTX, Free> cipher_;
        Nonce nonce_{};  // secret; XORed with the number of each message
        Epoch epoch_ = 0;
    };
    struct Sealing {
        Key key;
        Epoch epoch = 0;
        std::uint64_t count = 0;  // messages sealed
        std::uint64_t bytes = 0;  // sealed with this key
    };
    struct Opening {
        std::array<Key, 2> keys;  // of the newest epoch and the one before, by the lowest bit
        Key next;                 // of a later epoch; used once a message was authenticated by it
        Epoch newest = 0;
    };

    TlsMessageGuard(SSL* connection, bool dialled, std::uint64_t key_update_bytes) noexcept
        : connection_(connection), dialled_(dialled), key_update_bytes_(key_update_bytes) {}
    [[nodiscard]] Key* key_to_open(Kind kind, Epoch epoch) noexcept;
    void authenticated(Kind kind, Epoch epoch) noexcept;

    SSL* const connection_;
    const bool dialled_;
    const std::uint64_t key_update_bytes_;
    std::array<Sealing, kinds> sealing_;
    std::array<Opening, kinds> opening_;
    ReplayWindow taken_;  // frames
};

}  // namespace cinnabar::tls
