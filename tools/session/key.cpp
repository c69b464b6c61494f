// SPDX-License-Identifier: BSD-3-Clause
#include "session/key.hpp"

#include "file/file_error.hpp"
#include "file/name.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cinnabar::tools {

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
    return Key(std::vector<unsigned char>(bytes.begin(), bytes.end()));
}

Result<Key> Key::load(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return file_error(errno, "cannot open the key file", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error(errno, "cannot look at the key file", path);
    if (!S_ISREG(status.st_mode))
        return Error{Errc::invalid_argument, "the key is not a regular file", printable(path)};
    if ((status.st_mode & 077) != 0)
        return Error{Errc::permission, "the key file is open to others: chmod 600 it", printable(path)};
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error{Errc::permission, "the key file belongs to somebody else", printable(path)};
    std::vector<char> bytes(key_bytes_max + 2);
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t count = ::read(file.get(), bytes.data() + have, bytes.size() - have);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error(errno, "cannot read the key file", path);
        if (count == 0) break;
        have += static_cast<std::size_t>(count);
    }
    auto key = from({bytes.data(), have});
    OPENSSL_cleanse(bytes.data(), bytes.size());
    if (!key) return Error{key.code(), key.error().hint, printable(path)};
    return key;
}

Key::~Key() {
    if (!bytes_.empty()) OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Proof Key::prove(Prover prover, const Nonce& client, const Nonce& server) const noexcept {
    constexpr std::string_view client_label = "cinnabar save 1 client";
    constexpr std::string_view server_label = "cinnabar save 1 server";
    static_assert(client_label.size() == server_label.size());
    std::array<unsigned char, client_label.size() + 64> text{};
    const auto label = prover == Prover::client ? client_label : server_label;
    auto at = std::copy(label.begin(), label.end(), text.begin());
    at = std::copy(client.begin(), client.end(), at);
    std::copy(server.begin(), server.end(), at);
    Proof proof{};
    unsigned length = 0;
    const auto* made = ::HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()), text.data(), text.size(),
                              proof.data(), &length);
    CINNABAR_ASSERT(made && length == proof.size());
    return proof;
}

bool Key::accepts(const Proof& proof, Prover prover, const Nonce& client, const Nonce& server) const noexcept {
    const auto expected = prove(prover, client, server);
    return CRYPTO_memcmp(expected.data(), proof.data(), proof.size()) == 0;
}

}  // namespace cinnabar::tools
