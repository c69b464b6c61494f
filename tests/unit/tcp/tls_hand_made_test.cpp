// SPDX-License-Identifier: BSD-3-Clause
// Plain OpenSSL clients, which do what a Cinnabar peer never does.
#include "tls_fixture.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace cinnabar::tcp {
namespace {

using Digest = std::array<unsigned char, 32>;
using Secret = std::array<unsigned char, 32>;

constexpr Secret alice_key = [] {
    Secret key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>((i < 16 ? 0xa0 : 0xb0) + i % 16);
    return key;
}();

int use_alice(SSL* connection, const EVP_MD*, const unsigned char** name, std::size_t* bytes, SSL_SESSION** session) {
    constexpr std::array<unsigned char, 2> suite{0x13, 0x01};
    *session = SSL_SESSION_new();
    EXPECT_EQ(SSL_SESSION_set1_master_key(*session, alice_key.data(), alice_key.size()), 1);
    EXPECT_EQ(SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(connection, suite.data())), 1);
    EXPECT_EQ(SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION), 1);
    *name = reinterpret_cast<const unsigned char*>("alice");
    *bytes = 5;
    return 1;
}

// A TLS client in memory that a test drives; its bytes are sent over a RawSocket.
class HandMade {
  public:
    explicit HandMade(int version_max = TLS1_3_VERSION, bool alpn = true) : context_(SSL_CTX_new(TLS_method())) {
        EXPECT_EQ(SSL_CTX_set_max_proto_version(context_.get(), version_max), 1);
        SSL_CTX_set_psk_use_session_callback(context_.get(), &use_alice);
        constexpr std::string_view protocol =
            "\x0a"
            "cinnabar/1";
        if (alpn) {
            EXPECT_EQ(SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(protocol.data()),
                                              static_cast<unsigned>(protocol.size())),
                      0);
        }
        connection_.reset(SSL_new(context_.get()));
        SSL_set_bio(connection_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(connection_.get());
    }

    [[nodiscard]] SSL* ssl() { return connection_.get(); }
    // The bytes that it wants to send.
    [[nodiscard]] std::vector<std::byte> output() {
        std::vector<std::byte> bytes(BIO_ctrl_pending(SSL_get_wbio(ssl())));
        if (!bytes.empty()) {
            EXPECT_EQ(BIO_read(SSL_get_wbio(ssl()), bytes.data(), static_cast<int>(bytes.size())),
                      static_cast<int>(bytes.size()));
        }
        return bytes;
    }
    void input(RawSocket& from) {
        const auto bytes = from.take(from.received());
        if (bytes && !bytes->empty()) BIO_write(SSL_get_rbio(ssl()), bytes->data(), static_cast<int>(bytes->size()));
    }
    // One step of the handshake over the socket; true once it is complete.
    bool shake(RawSocket& raw) {
        input(raw);
        const bool done = SSL_do_handshake(ssl()) == 1;
        raw.write_if_open(output());
        return done;
    }

  private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
        void operator()(SSL* connection) const { SSL_free(connection); }
    };
    std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> connection_;
};

// RFC 8446, 7.1: the part of the key schedule that a binder needs.
Digest hmac(const Secret& key, ConstBytes text) {
    Digest digest{};
    unsigned bytes = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), digest.data(), &bytes);
    return digest;
}

Digest sha256(ConstBytes text) {
    Digest digest{};
    unsigned bytes = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &bytes, EVP_sha256(), nullptr);
    return digest;
}

Secret expand(const Secret& secret, std::string_view label, ConstBytes context) {
    std::string info{'\0', '\x20'};
    info += static_cast<char>(6 + label.size());
    info.append("tls13 ").append(label);
    info += static_cast<char>(context.size());
    info.append(as_text(context));
    info += '\x01';
    return hmac(secret, as_bytes(info));
}

// Replaces the binder of alice's key at the end of a ClientHello with the one for its changed content.
void bind_again(std::vector<std::byte>& record) {
    constexpr std::size_t record_header = 5;
    constexpr std::size_t binders = 2 + 1 + 32;
    const Digest early = hmac(Secret{}, std::as_bytes(std::span(alice_key)));
    const Digest nothing = sha256({});
    const Secret binder_key = expand(early, "ext binder", std::as_bytes(std::span(nothing)));
    const Secret finished = expand(binder_key, "finished", {});
    const Digest said = sha256(ConstBytes(record).subspan(record_header, record.size() - record_header - binders));
    const Digest binder = hmac(finished, std::as_bytes(std::span(said)));
    std::ranges::copy(std::as_bytes(std::span(binder)), record.end() - 32);
}

class TlsHandMade : public TlsTest {
  protected:
    TlsHandMade() : server_(serve(alice())) {}
    // The first bytes of the answer to a ClientHello: {record type, two of version, two of length, first of content}.
    [[nodiscard]] std::vector<std::byte> answer_to(ConstBytes hello) {
        RawSocket raw(server_.endpoint());
        raw.write(hello);
        std::optional<std::vector<std::byte>> answer;
        EXPECT_TRUE(until([&] { return (answer = raw.take(7)).has_value() || raw.closed(); }));
        return answer.value_or(std::vector<std::byte>(7));
    }
    [[nodiscard]] static bool is_server_hello(const std::vector<std::byte>& answer) {
        return answer[0] == std::byte{22} && answer[5] == std::byte{2};
    }
    [[nodiscard]] static int alert_of(const std::vector<std::byte>& answer) {
        return answer[0] == std::byte{21} ? std::to_integer<int>(answer[6]) : -1;
    }
    void expect_others_served() {
        Process& honest = dial_from(alice());
        connect(honest, peer(honest, server_), server_);
    }

    Process& server_;
};

TEST_F(TlsHandMade, AKeyWithoutDiffieHellmanIsRefused) {
    log_.allow("proves no key that is known here");
    HandMade client;
    EXPECT_EQ(SSL_do_handshake(client.ssl()), -1);
    std::vector<std::byte> hello = client.output();
    EXPECT_TRUE(is_server_hello(answer_to(hello)));
    bind_again(hello);
    EXPECT_TRUE(is_server_hello(answer_to(hello))) << "the test computes binders as OpenSSL does";
    // The extension psk_key_exchange_modes offers only psk_dhe_ke, which is replaced with psk_ke.
    const std::array modes{std::byte{0}, std::byte{45}, std::byte{0}, std::byte{2}, std::byte{1}, std::byte{1}};
    const auto at = std::search(hello.begin(), hello.end(), modes.begin(), modes.end());
    ASSERT_NE(at, hello.end());
    at[5] = std::byte{0};
    bind_again(hello);
    EXPECT_EQ(alert_of(answer_to(hello)), SSL_AD_HANDSHAKE_FAILURE) << "the binder is right, and of no use";
    expect_others_served();
}

TEST_F(TlsHandMade, OlderVersionsAreRefused) {
    for (const int version : {TLS1_2_VERSION, TLS1_1_VERSION}) {
        HandMade client(version);
        SSL_set_security_level(client.ssl(), 0);
        EXPECT_EQ(SSL_do_handshake(client.ssl()), -1);
        const std::vector<std::byte> hello = client.output();
        ASSERT_FALSE(hello.empty());
        EXPECT_EQ(alert_of(answer_to(hello)), SSL_AD_PROTOCOL_VERSION);
    }
    expect_others_served();
}

TEST_F(TlsHandMade, OtherSuitesAreRefused) {
    log_.allow("proves no key that is known here");
    const auto answer_to_suite = [&](const char* suite) {
        HandMade client;
        EXPECT_EQ(SSL_set_ciphersuites(client.ssl(), suite), 1);
        EXPECT_EQ(SSL_do_handshake(client.ssl()), -1);
        return answer_to(client.output());
    };
    for (const char* ours : {"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"})
        EXPECT_TRUE(is_server_hello(answer_to_suite(ours))) << ours;
    for (const char* other : {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256"})
        EXPECT_EQ(alert_of(answer_to_suite(other)), SSL_AD_HANDSHAKE_FAILURE) << other;
    expect_others_served();
}

TEST_F(TlsHandMade, AClientOfAnotherProtocolIsDropped) {
    HandMade client(TLS1_3_VERSION, false);
    RawSocket raw(server_.endpoint());
    EXPECT_TRUE(until([&] { return client.shake(raw); })) << "TLS has nothing against it";
    EXPECT_TRUE(until([&] { return raw.closed(); })) << "but Cinnabar has";
    EXPECT_TRUE(server_.receiver.events.empty());
    expect_others_served();
}

// Each key update makes the server send one in return, which the client does not read.
TEST_F(TlsHandMade, EndlessKeyUpdatesFillNoMemory) {
    log_.allow("does not keep to TLS");
    HandMade client;
    RawSocket raw(server_.endpoint());
    ASSERT_TRUE(until([&] { return client.shake(raw); }));
    const auto greeting = dial_greeting(5).encode();
    ASSERT_EQ(SSL_write(client.ssl(), greeting.data(), static_cast<int>(greeting.size())),
              static_cast<int>(greeting.size()));
    raw.write(client.output());
    ASSERT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::connected) == 1; }));
    const int little = 2048;
    EXPECT_EQ(::setsockopt(raw.fd(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    for (int i = 0; i < 200'000 && server_.receiver.count(na::PeerEvent::lost) == 0; ++i) {
        if (SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED) != 1 || SSL_do_handshake(client.ssl()) != 1) break;
        raw.write_if_open(client.output());
        (void)pump_.round();
    }
    EXPECT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    expect_others_served();
}

}  // namespace
}  // namespace cinnabar::tcp
