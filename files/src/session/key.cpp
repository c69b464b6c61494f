// SPDX-License-Identifier: BSD-3-Clause
#include "session/secret.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/key.hpp>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cinnabar::files {
namespace {

Proof hmac(const SecretBytes& key, const MacText& text) noexcept {
    Proof proof{};
    unsigned length = 0;
    const auto* made = ::HMAC(EVP_sha256(), key.bytes().data(), static_cast<int>(key.bytes().size()),
                              text.bytes().data(), text.bytes().size(), proof.data(), &length);
    CINNABAR_ASSERT(made && length == proof.size());
    return proof;
}

bool same(const Proof& a, const Proof& b) noexcept { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

Result<UniqueFd> open_key(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return file_error(errno, "cannot open the key file", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error(errno, "cannot look at the key file", path);
    if (!S_ISREG(status.st_mode))
        return Error{Errc::invalid_argument, "the key is not a regular file", printable(path)};
    if ((status.st_mode & 077) != 0)
        return Error{Errc::permission, "the key file is open to others: chmod 600 it", printable(path)};
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error{Errc::permission, "the key file belongs to somebody else", printable(path)};
    return file;
}

}  // namespace

MacText& MacText::add(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<unsigned char>(number >> shift));
    return *this;
}

MacText& MacText::add(const std::array<std::uint8_t, 32>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
}

MacText& MacText::add_text(std::string_view text) {
    add(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
}

void Secret::Free::operator()(evp_mac_ctx_st* context) const noexcept { EVP_MAC_CTX_free(context); }

Secret::Secret(const std::array<std::uint8_t, 32>& bytes) noexcept {
    static EVP_MAC* const hmac_of_openssl = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    context_.reset(EVP_MAC_CTX_new(hmac_of_openssl));
    char digest[] = "SHA256";
    const std::array<OSSL_PARAM, 2> how{OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                                        OSSL_PARAM_construct_end()};
    CINNABAR_ASSERT(context_ && EVP_MAC_init(context_.get(), bytes.data(), bytes.size(), how.data()) == 1);
}

Proof Secret::sign(const MacText& text) const noexcept {
    Proof proof{};
    std::size_t length = 0;
    const bool made = EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
                      EVP_MAC_update(context_.get(), text.bytes().data(), text.bytes().size()) == 1 &&
                      EVP_MAC_final(context_.get(), proof.data(), &length, proof.size()) == 1;
    CINNABAR_ASSERT(made && length == proof.size());
    return proof;
}

bool Secret::accepts(const Proof& proof, const MacText& text) const noexcept { return same(proof, sign(text)); }

Nonce make_nonce() noexcept {
    Nonce nonce{};
    for (std::size_t have = 0; have < nonce.size();) {
        const ssize_t count = ::getrandom(nonce.data() + have, nonce.size() - have, 0);
        if (count < 0 && errno == EINTR) continue;
        CINNABAR_ASSERT(count > 0);
        have += static_cast<std::size_t>(count);
    }
    return nonce;
}

Result<Key> Key::from(std::string_view bytes) {
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    if (bytes.size() < key_bytes_min) return Error{Errc::invalid_argument, "a key has at least 16 bytes"};
    if (bytes.size() > key_bytes_max) return Error{Errc::invalid_argument, "a key has at most 4096 bytes"};
    CINNABAR_TRY(SecretBytes secret, SecretBytes::make(bytes.size()));
    std::ranges::copy(as_bytes(bytes), secret.bytes().begin());
    return Key(std::move(secret));
}

Result<Key> Key::load(const std::string& path) {
    CINNABAR_TRY(const UniqueFd file, open_key(path));
    CINNABAR_TRY(SecretBytes content, SecretBytes::make(key_bytes_max + 2));
    std::size_t have = 0;
    while (have < content.bytes().size()) {
        const ssize_t count = ::read(file.get(), content.bytes().data() + have, content.bytes().size() - have);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error(errno, "cannot read the key file", path);
        if (count == 0) break;
        have += static_cast<std::size_t>(count);
    }
    content.shorten(have);
    auto key = from(content.text());
    if (!key) return Error{key.code(), key.error().hint, printable(path)};
    return key;
}

Proof Key::prove_client(const Nonce& client, const Nonce& server) const noexcept {
    return hmac(bytes_, MacText("cinnabar save 1 client").add(client).add(server));
}

bool Key::accepts_client(const Proof& proof, const Nonce& client, const Nonce& server) const noexcept {
    return same(proof, prove_client(client, server));
}

Proof Key::prove_server(const Admission& admission) const noexcept {
    MacText text("cinnabar save 1 server");
    text.add(admission.client).add(admission.server).add(admission.token);
    text.add(admission.window_bytes).add(admission.windows_max).add(admission.precision.time_step_ns);
    text.add(static_cast<std::uint64_t>(admission.precision.oldest_s)).add(admission.precision.mode_bits);
    return hmac(bytes_, text);
}

bool Key::accepts_server(const Proof& proof, const Admission& admission) const noexcept {
    return same(proof, prove_server(admission));
}

Secret Key::session_secret(const Nonce& client, const Nonce& server, const Token& token) const noexcept {
    return Secret(hmac(bytes_, MacText("cinnabar save 1 session").add(client).add(server).add(token)));
}

}  // namespace cinnabar::files
