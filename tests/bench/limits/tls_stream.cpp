// SPDX-License-Identifier: BSD-3-Clause
// A raw stream over OpenSSL, and its cipher alone.
#include "../harness/buffers.hpp"
#include "bare_tls.hpp"
#include "tcp_pair.hpp"

#include <fcntl.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::size_t record_bytes = 16 * 1024;

// Call it for an operation on a non-blocking socket that is incomplete: throws unless it can be repeated.
void expect_more(SSL* connection, int done) {
    const int why = SSL_get_error(connection, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        throw std::runtime_error{"the bare TLS stream ended"};
}

void do_not_block(int fd) {
    if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) throw std::runtime_error{"O_NONBLOCK"};
}

class TlsStream final : public Subject {
  public:
    TlsStream(Cores cores, const na::TlsOptions& server, const na::TlsOptions& client, std::size_t block_bytes,
              std::size_t buffers)
        : buffers_(buffers, block_bytes),
          context_(make_tls_context(client)),
          partner_(cores.server,
                   [&](PartnerSide& side) {
                       const TlsContext own = make_tls_context(server);
                       do_not_block(sockets_.server.get());
                       const auto connection = make_tls_connection(own.get(), sockets_.server.get(), TlsSide::server);
                       serve(side, connection.get(), Buffers{buffers, block_bytes});
                   }),
          connection_(make_tls_connection(context_.get(), sockets_.client.get(), TlsSide::client)) {
        do_not_block(sockets_.client.get());
    }

    // Receives whole blocks until the time is up; then everything that the server has begun to send.
    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
            std::uint64_t blocks = 0;
            for (; seconds_now() < end; ++blocks) receive_block();
            auto& page = partner_.page();
            page.client_finished.store(true);
            for (bool over = false; !over || page.server_work.load() > blocks;) {
                over = !page.running.load();
                if (page.server_work.load() <= blocks) continue;
                receive_block();
                ++blocks;
            }
            return static_cast<double>(blocks * buffers_.bytes_each());
        });
    }

  private:
    void receive_block() {
        std::byte* const block = buffers_.next();
        for (std::size_t have = 0; have < buffers_.bytes_each();) {
            std::size_t came = 0;
            const int done = SSL_read_ex(connection_.get(), block + have, buffers_.bytes_each() - have, &came);
            if (done != 1) expect_more(connection_.get(), done);
            have += came;
        }
    }
    static void serve(PartnerSide& side, SSL* connection, Buffers buffers) {
        side.announce("ready");
        auto& page = side.page();
        while (side.wait_slice()) {
            while (!page.client_finished.load()) {
                page.server_work.fetch_add(1);
                const std::byte* const block = buffers.next();
                std::size_t taken = 0;
                while (taken == 0) {
                    const int done = SSL_write_ex(connection, block, buffers.bytes_each(), &taken);
                    if (done != 1) expect_more(connection, done);
                }
            }
            page.running.store(false);
            side.end_slice();
        }
    }

    Buffers buffers_;
    TcpPair sockets_ = make_tcp_pair();
    TlsContext context_;
    Partner partner_;
    TlsConnection connection_;
};

class Cipher final : public Subject {
  public:
    Cipher(std::size_t block_bytes, std::size_t buffers)
        : buffers_(buffers, block_bytes), state_(EVP_CIPHER_CTX_new()) {
        constexpr std::array<unsigned char, 16> key{1};
        if (!state_ || EVP_EncryptInit_ex(state_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr) != 1)
            throw std::runtime_error{"AES-128-GCM"};
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        Slice slice;
        const auto used = usage_now();
        const auto begin = seconds_now();
        const auto end = begin + std::chrono::duration<double>(duration).count();
        for (; slice.work == 0 || seconds_now() < end; slice.work += static_cast<double>(buffers_.bytes_each()))
            encrypt(buffers_.next());
        slice.seconds = seconds_now() - begin;
        slice.client = usage_now() - used;
        return slice;
    }

  private:
    void encrypt(std::byte* block) {
        for (std::size_t at = 0; at < buffers_.bytes_each(); at += record_bytes) {
            auto* const record = reinterpret_cast<unsigned char*>(block + at);
            const int bytes = static_cast<int>(std::min(record_bytes, buffers_.bytes_each() - at));
            int done = 0;
            std::array<unsigned char, 16> tag;
            ++nonce_[0];
            if (EVP_EncryptInit_ex(state_.get(), nullptr, nullptr, nullptr, nonce_.data()) != 1 ||
                EVP_EncryptUpdate(state_.get(), record, &done, record, bytes) != 1 ||
                EVP_EncryptFinal_ex(state_.get(), tag.data(), &done) != 1 ||
                EVP_CIPHER_CTX_ctrl(state_.get(), EVP_CTRL_GCM_GET_TAG, tag.size(), tag.data()) != 1)
                throw std::runtime_error{"AES-128-GCM failed"};
        }
    }
    struct Free {
        void operator()(EVP_CIPHER_CTX* state) const noexcept { EVP_CIPHER_CTX_free(state); }
    };

    Buffers buffers_;
    std::unique_ptr<EVP_CIPHER_CTX, Free> state_;
    std::array<unsigned char, 12> nonce_{};
};

}  // namespace

std::unique_ptr<Subject> make_tls_stream(Cores cores, const na::TlsOptions& server, const na::TlsOptions& client,
                                         std::size_t block_bytes, std::size_t buffers) {
    return std::make_unique<TlsStream>(cores, server, client, block_bytes, buffers);
}

std::unique_ptr<Subject> make_cipher(std::size_t block_bytes, std::size_t buffers) {
    return std::make_unique<Cipher>(block_bytes, buffers);
}

}  // namespace cinnabar::bench
