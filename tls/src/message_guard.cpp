// SPDX-License-Identifier: BSD-3-Clause
#include "message_guard.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace cinnabar::tls {
namespace {

constexpr std::string_view label = "EXPORTER-cinnabar-messages";
constexpr std::size_t key_bytes = 16;
constexpr std::size_t tag_bytes = 16;
constexpr unsigned count_bits = 48;  // of a message's number; above them is the epoch of its key
constexpr std::uint64_t counts_end = std::uint64_t{1} << count_bits;
static_assert(na::MessageGuard::trailer_bytes == sizeof(std::uint64_t) + tag_bytes);

const unsigned char* in(ConstBytes bytes) noexcept { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* out(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

bool TlsMessageGuard::Key::set(SSL* connection, bool of_dialler, Kind kind, Epoch epoch, bool seals) noexcept {
    const OpenSsl& ssl = openssl();
    const std::array<unsigned char, 4> context{static_cast<unsigned char>(of_dialler ? 0 : 1),
                                               static_cast<unsigned char>(kind), static_cast<unsigned char>(epoch),
                                               static_cast<unsigned char>(epoch >> 8)};
    std::array<unsigned char, key_bytes + nonce_bytes> secret;
    if (!cipher_) cipher_.reset(ssl.EVP_CIPHER_CTX_new());
    const bool made =
        cipher_ &&
        ssl.SSL_export_keying_material(connection, secret.data(), secret.size(), label.data(), label.size(),
                                       context.data(), context.size(), 1) == 1 &&
        (seals ? ssl.EVP_EncryptInit_ex(cipher_.get(), ssl.EVP_aes_128_gcm(), nullptr, secret.data(), nullptr)
               : ssl.EVP_DecryptInit_ex(cipher_.get(), ssl.EVP_aes_128_gcm(), nullptr, secret.data(), nullptr)) == 1;
    std::copy_n(secret.begin() + key_bytes, nonce_bytes, nonce_.begin());
    ssl.OPENSSL_cleanse(secret.data(), secret.size());
    epoch_ = epoch;
    if (!made) ssl.ERR_clear_error();
    return made;
}

// As in TLS 1.3: the number is XORed with the secret nonce (RFC 8446, 5.3).
TlsMessageGuard::Nonce TlsMessageGuard::Key::nonce_of(std::uint64_t number) const noexcept {
    Nonce nonce = nonce_;
    for (std::size_t i = 0; i < sizeof number; ++i) {
        nonce[nonce_bytes - 1 - i] ^= static_cast<unsigned char>(number >> (8 * i));
    }
    return nonce;
}

bool TlsMessageGuard::Key::encrypt(std::uint64_t number, ConstBytes head, ConstBytes from, std::byte* to) noexcept {
    const OpenSsl& ssl = openssl();
    const Nonce nonce = nonce_of(number);
    int done = 0;
    std::byte* const tag = to + from.size() + sizeof number;
    return ssl.EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1 &&
           ssl.EVP_EncryptUpdate(cipher_.get(), nullptr, &done, in(head), static_cast<int>(head.size())) == 1 &&
           ssl.EVP_EncryptUpdate(cipher_.get(), out(to), &done, in(from), static_cast<int>(from.size())) == 1 &&
           ssl.EVP_EncryptFinal_ex(cipher_.get(), out(to + from.size()), &done) == 1 &&
           ssl.EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1;
}

bool TlsMessageGuard::Key::decrypt(std::uint64_t number, ConstBytes head, Bytes bytes, std::byte* tag) noexcept {
    const OpenSsl& ssl = openssl();
    const Nonce nonce = nonce_of(number);
    int done = 0;
    return ssl.EVP_DecryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1 &&
           ssl.EVP_DecryptUpdate(cipher_.get(), nullptr, &done, in(head), static_cast<int>(head.size())) == 1 &&
           ssl.EVP_DecryptUpdate(cipher_.get(), out(bytes.data()), &done, in(bytes), static_cast<int>(bytes.size())) ==
               1 &&
           ssl.EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag) == 1 &&
           ssl.EVP_DecryptFinal_ex(cipher_.get(), out(bytes.data() + bytes.size()), &done) == 1;
}

std::unique_ptr<TlsMessageGuard> TlsMessageGuard::make(SSL* connection, bool dialled,
                                                       std::uint64_t key_update_bytes) noexcept {
    std::unique_ptr<TlsMessageGuard> made(new (std::nothrow) TlsMessageGuard(connection, dialled, key_update_bytes));
    if (!made) return nullptr;
    for (const Kind kind : {Kind::frame, Kind::chunk}) {
        const auto index = static_cast<std::size_t>(kind);
        if (!made->sealing_[index].key.set(connection, dialled, kind, 0, true)) return nullptr;
        if (!made->opening_[index].keys[0].set(connection, !dialled, kind, 0, false)) return nullptr;
    }
    return made;
}

bool TlsMessageGuard::seal(Kind kind, ConstBytes head, ConstBytes from, std::byte* to) noexcept {
    Sealing& sealing = sealing_[static_cast<std::size_t>(kind)];
    const bool last = sealing.epoch == std::numeric_limits<Epoch>::max();
    if (sealing.bytes > 0 && sealing.bytes + from.size() > key_update_bytes_ && !last) {
        if (!sealing.key.set(connection_, dialled_, kind, ++sealing.epoch, true)) return false;
        sealing.bytes = 0;
    }
    if (sealing.count == counts_end) return false;
    const std::uint64_t number = std::uint64_t{sealing.epoch} << count_bits | sealing.count++;
    sealing.bytes += from.size();
    ByteWriter writer({to + from.size(), sizeof number});
    const bool sealed = sealing.key.encrypt(number, head, from, to);
    writer.u64(number);
    if (!sealed) openssl().ERR_clear_error();
    return sealed;
}

TlsMessageGuard::Key* TlsMessageGuard::key_to_open(Kind kind, Epoch epoch) noexcept {
    Opening& opening = opening_[static_cast<std::size_t>(kind)];
    if (Key& key = opening.keys[epoch % 2]; key.is(epoch)) return &key;
    // Accepts any later epoch, not only the next one: if the sender has no room to send a message that it has sealed,
    // the message's number, and perhaps its epoch, are never seen here.
    if (epoch <= opening.newest) return nullptr;
    if (opening.next.is(epoch)) return &opening.next;
    return opening.next.set(connection_, !dialled_, kind, epoch, false) ? &opening.next : nullptr;
}

void TlsMessageGuard::authenticated(Kind kind, Epoch epoch) noexcept {
    Opening& opening = opening_[static_cast<std::size_t>(kind)];
    if (epoch <= opening.newest) return;
    std::swap(opening.keys[epoch % 2], opening.next);
    opening.newest = epoch;
}

bool TlsMessageGuard::open(Kind kind, ConstBytes head, Bytes sealed) noexcept {
    if (sealed.size() < trailer_bytes) return false;
    const Bytes bytes = sealed.first(sealed.size() - trailer_bytes);
    ByteReader reader(sealed.last(trailer_bytes));
    const std::uint64_t number = reader.u64();
    const auto epoch = static_cast<Epoch>(number >> count_bits);
    Key* const key = key_to_open(kind, epoch);
    if (!key || !key->decrypt(number, head, bytes, sealed.data() + bytes.size() + sizeof number)) {
        openssl().ERR_clear_error();
        return false;
    }
    authenticated(kind, epoch);
    return kind == Kind::chunk || taken_.take(number % counts_end);
}

}  // namespace cinnabar::tls
