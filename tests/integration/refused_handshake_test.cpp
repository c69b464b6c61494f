// SPDX-License-Identifier: BSD-3-Clause
// The error of a call whose connection was refused says which side refused the other, and why, over tcps and ofis.
#include "security/certificates.hpp"
#include "security/revocations.hpp"
#include "support/folder.hpp"
#include "support/log_watch.hpp"
#include "support/missing_here.hpp"
#include "support/silent_listener.hpp"
#include "support/test_key.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace cinnabar {
namespace {

using tools::security::Subject;
using tools::security::SystemTime;
using tools::security::Validity;

constexpr Rpc<int(int)> echo{"refused.echo"};
constexpr std::chrono::hours hour(1);

// The files must exist until the nodes, which check them, are closed.
class RefusedHandshake : public testing::TestWithParam<std::string> {
  protected:
    RefusedHandshake() {
        for (const char* each : {"certificate", "key", "connections only", "TLS 1.3"}) log_.allow(each);
    }
    void SetUp() override {
        if (!GetParam().starts_with("ofis")) return;
        const std::string missing = support::missing_here(Node::listen("ofi+tcp;ofi_rxm://127.0.0.1:0"));
        if (!missing.empty()) GTEST_SKIP() << missing;
    }

    na::TlsOptions key(const std::string& name, char digit) {
        na::TlsOptions tls;
        tls.key_file = support::put_key(folder_, "key" + std::to_string(++files_), name + ":" + std::string(64, digit));
        return tls;
    }
    void authority(const std::string& name) {
        const auto made =
            tools::security::make_authority(folder_.at(name), name, tools::security::valid_for(std::chrono::days(1)));
        ASSERT_TRUE(made.ok()) << made.error().message();
    }
    // Trusts the authority that signed it.
    na::TlsOptions certificate(const std::string& authority, const Subject& subject, const Validity& validity) {
        const std::string into = folder_.at("made" + std::to_string(++files_));
        const auto made = tools::security::make_certificate(folder_.at(authority), into, subject, validity);
        EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message());
        na::TlsOptions tls;
        tls.certificate_file = into + "/" + subject.name + ".pem";
        tls.private_key_file = into + "/" + subject.name + ".key";
        tls.ca_file = folder_.at(authority) + "/ca.pem";
        return tls;
    }
    static Validity today() { return tools::security::valid_for(std::chrono::days(1)); }
    na::TlsOptions server(const Validity& validity = today(), const std::string& host = "127.0.0.1") {
        return certificate("ca", {"server", {host}, true}, validity);
    }
    na::TlsOptions client(const Validity& validity = today()) {
        return certificate("ca", {"client", {}, false}, validity);
    }

    // The message of the error with which a call ends, from a client with `own` to a server with `theirs`.
    std::string refused(const na::TlsOptions& theirs, const na::TlsOptions& own) {
        NodeOptions options;
        options.transport.tls = theirs;
        const auto server = Node::listen(GetParam() + "://127.0.0.1:0", options);
        if (!server) return "no server: " + server.error().message();
        server
            ->serve(echo,
                    [this](int number) {
                        ++handled_;
                        return number;
                    })
            .value();
        return error_at(server->address(), own, Errc::permission);
    }
    static std::string error_at(const std::string& address, const na::TlsOptions& own, Errc code) {
        NodeOptions options;
        options.transport.tls = own;
        const auto client = Node::connect(address, options);
        if (!client) return "no client: " + client.error().message();
        const auto reply = client->node.call(echo, client->peer, 1, std::chrono::seconds(30)).wait();
        if (reply) return "answered";
        EXPECT_EQ(reply.code(), code) << reply.error().message();
        return reply.error().message();
    }
    void expect_refused(const na::TlsOptions& theirs, const na::TlsOptions& own, const std::string& because) {
        const std::string told = refused(theirs, own);
        EXPECT_NE(told.find("refused.echo at "), std::string::npos) << told;
        EXPECT_NE(told.find(": the peer " + because), std::string::npos) << told;
        EXPECT_NE(told.find("do not accept each other's key, certificate or user"), std::string::npos) << told;
        EXPECT_EQ(handled_.load(), 0);
    }

    support::LogWatch log_;
    support::Folder folder_;
    unsigned files_ = 0;
    std::atomic<int> handled_{0};
};

TEST_P(RefusedHandshake, AKeyThatTheServerDoesNotKnow) {
    expect_refused(key("ann", 'a'), key("bob", 'b'), "knows neither a key nor a certificate of this side");
}

TEST_P(RefusedHandshake, AnotherKeyByThatName) {
    expect_refused(key("ann", 'a'), key("ann", 'b'),
                   "does not accept this side's key: it has another one by that name");
}

TEST_P(RefusedHandshake, AServerOfAnotherAuthority) {
    authority("ca");
    authority("other");
    na::TlsOptions own = client();
    own.ca_file = folder_.at("other") + "/ca.pem";
    expect_refused(server(), own, "has a certificate that is not believed: no CA in this side's file of ca");
}

TEST_P(RefusedHandshake, AClientOfAnotherAuthority) {
    authority("ca");
    authority("other");
    na::TlsOptions own = certificate("other", {"client", {}, false}, today());
    own.ca_file = folder_.at("ca") + "/ca.pem";  // it believes the server
    expect_refused(server(), own, "does not accept this side's certificate: no CA in its file of ca has signed it");
}

TEST_P(RefusedHandshake, AServerForAnotherHost) {
    authority("ca");
    expect_refused(server(today(), "storage.example"), client(),
                   "has a certificate that is not believed: it is for other hosts");
}

TEST_P(RefusedHandshake, WhatHasExpired) {
    authority("ca");
    const SystemTime now = std::chrono::system_clock::now();
    const Validity over{now - 2 * hour, now - hour};
    expect_refused(server(over), client(), "has a certificate that is not believed: it has expired");
    expect_refused(server(), client(over), "does not accept this side's certificate: it, or the list of its CA");
}

TEST_P(RefusedHandshake, WhatIsNotValidYet) {
    authority("ca");
    const SystemTime now = std::chrono::system_clock::now();
    const Validity later{now + hour, now + 2 * hour};
    expect_refused(server(later), client(), "has a certificate that is not believed: its time has not come yet");
    expect_refused(server(), client(later), "does not accept this side's certificate: its time has not come yet");
}

TEST_P(RefusedHandshake, WhatWasRevoked) {
    authority("ca");
    na::TlsOptions theirs = server();
    na::TlsOptions own = client();
    const std::string list = folder_.at("ca") + "/ca.crl";
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {own.certificate_file}).ok());
    theirs.crl_file = list;
    expect_refused(theirs, own, "says that this side's certificate was revoked: get another one from the CA");
    na::TlsOptions other = client();
    other.crl_file = list;
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {theirs.certificate_file}).ok());
    theirs.crl_file.clear();
    expect_refused(theirs, other, "has a certificate that was revoked");
}

TEST_P(RefusedHandshake, ACertificateForTheOtherSide) {
    authority("ca");
    const na::TlsOptions no_server = certificate("ca", {"client", {"127.0.0.1"}, false}, today());
    expect_refused(no_server, client(), "has a certificate that is not believed: it is not for its side");
}

TEST_P(RefusedHandshake, APlainCallToAProtectedPort) {
    NodeOptions options;
    options.transport.tls = key("ann", 'a');
    const Node there = Node::listen(GetParam() + "://127.0.0.1:0", options).value();
    std::string plain = there.address();
    ASSERT_NE(plain.find(GetParam() + "://"), std::string::npos) << plain;
    const std::string family = GetParam().substr(0, GetParam().find('+'));
    plain.replace(plain.find(family), family.size(), family.substr(0, family.size() - 1));
    const std::string told = error_at(plain, {}, Errc::permission);
    EXPECT_NE(told.find(": the peer takes protected connections only: reach it by " + family), std::string::npos)
        << told;
}

INSTANTIATE_TEST_SUITE_P(Over, RefusedHandshake, testing::Values("tcps", "ofis+tcp;ofi_rxm"),
                         [](const auto& each) { return each.param.substr(0, 4); });

// The alert with which a server of TLS 1.2 answers.
TEST(RefusedVersion, OneThatSpeaksNoTls13) {
    support::LogWatch log;
    log.allow("does not speak TLS 1.3");
    const support::Folder folder;
    const support::SilentListener listener;
    std::thread answers([&] {
        const UniqueFd accepted(::accept(listener.fd(), nullptr, nullptr));
        std::array<char, 4096> hello{};
        if (::recv(accepted.get(), hello.data(), hello.size(), 0) <= 0) return;
        constexpr std::array<unsigned char, 7> protocol_version{21, 3, 3, 0, 2, 2, 70};  // a fatal alert
        (void)::send(accepted.get(), protocol_version.data(), protocol_version.size(), MSG_NOSIGNAL);
        (void)::recv(accepted.get(), hello.data(), hello.size(), 0);  // until the other side closes
    });
    NodeOptions options;
    options.transport.tls.key_file = support::put_key(folder, "key", "ann:" + std::string(64, 'a'));
    const Connected client = Node::connect("tcps://" + listener.host_and_port(), options).value();
    const auto reply = client.node.call(echo, client.peer, 1, std::chrono::seconds(30)).wait();
    EXPECT_EQ(reply.code(), Errc::protocol);
    if (!reply) {
        const std::string told = reply.error().message();
        EXPECT_NE(told.find(": the peer does not speak TLS 1.3"), std::string::npos) << told;
    }
    (void)::shutdown(listener.fd(), SHUT_RDWR);
    answers.join();
}

}  // namespace
}  // namespace cinnabar
