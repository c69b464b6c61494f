// SPDX-License-Identifier: BSD-3-Clause
// Which peers may connect over tcps, and what rejected peers learn.
#include "security/revocations.hpp"
#include "tls_fixture.hpp"

namespace cinnabar::tcp {
namespace {

using TlsProof = TlsTest;
using tools::security::SystemTime;

TEST_F(TlsProof, ASharedKeyNamesWhoeverHasIt) {
    const std::string both = folder_.put("both", std::string("alice:") + hex_of_alice + "\n# later\nbob:" + hex_of_bob);
    std::filesystem::permissions(both, std::filesystem::perms::owner_read);
    Process& server = serve({.key_file = both});
    Process& first = dial_from(alice());
    Process& second = dial_from(bob());
    connect(first, peer(first, server), server);
    connect(second, peer(second, server), server);
    ASSERT_EQ(server.receiver.messages.size(), 2u);
    for (const auto& [index, name] : {std::pair(0u, "alice"), std::pair(1u, "bob")}) {
        const na::ProvenIdentity* identity = server.receiver.messages[index].source->addr().identity();
        ASSERT_TRUE(identity);
        EXPECT_EQ(identity->by, na::ProvenIdentity::By::key);
        EXPECT_EQ(identity->name, name);
    }
    EXPECT_TRUE(server.transport->caps().proves_peers);
}

TEST_F(TlsProof, AnotherKeyOfThatNameIsRefused) {
    log_.allow("proves another key than this side has by that name: compare the key files");
    log_.allow("it has another one by that name, compare the key files");
    Process& server = serve(alice());
    Process& client = dial_from({.key_file = key("alice", hex_of_bob)});
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission);
    EXPECT_EQ(log_.allowed(), 2u) << "both sides say so";
    expect_nothing_came(server);
}

TEST_F(TlsProof, AKeyThatIsUnknownIsRefused) {
    log_.allow("proves no key that is known here");
    log_.allow("knows neither a key nor a certificate of this side");
    Process& server = serve(alice());
    Process& client = dial_from(bob());
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission);
    EXPECT_EQ(log_.allowed(), 2u);
    expect_nothing_came(server);
}

TEST_F(TlsProof, ARevokedCertificateIsRefused) {
    log_.allow("has a certificate that was revoked: it wants another one");
    log_.allow("says that this side's certificate was revoked: get another one");
    authority("ca");
    na::TlsOptions server_side = certificate("ca", server_of());
    na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    na::TlsOptions bob = certificate("ca", {"bob", {}, false});
    for (na::TlsOptions* each : {&server_side, &ann, &bob}) each->crl_file = folder_.at("ca") + "/ca.crl";
    Process& before = serve(server_side);
    EXPECT_EQ(sent(dial_from(ann), before.endpoint()), Errc::ok) << "the list names nobody yet";
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {ann.certificate_file}));
    Process& server = serve(server_side);
    EXPECT_EQ(sent(dial_from(ann), server.endpoint()), Errc::permission);
    EXPECT_EQ(log_.allowed(), 2u) << "both sides say so";
    expect_nothing_came(server);
    EXPECT_EQ(sent(dial_from(bob), server.endpoint()), Errc::ok);
    ASSERT_TRUE(tools::security::revoke(folder_.at("ca"), {server_side.certificate_file}));
    EXPECT_EQ(sent(dial_from(bob), serve(server_side).endpoint()), Errc::permission) << "a server's";
    EXPECT_EQ(sent(dial_from(ann), serve(server_side).endpoint()), Errc::permission) << "it stays on the list";
}

TEST_F(TlsProof, CertificatesNameBothSides) {
    authority("ca");
    Process& server = serve(certificate("ca", server_of()));
    Process& client = dial_from(certificate("ca", {"client-7", {}, false}));
    connect(client, peer(client, server), server);
    const na::ProvenIdentity* identity = server.receiver.messages.front().source->addr().identity();
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->by, na::ProvenIdentity::By::certificate);
    EXPECT_EQ(identity->name, "client-7");
}

TEST_F(TlsProof, ACertificateIsForTheHostThatWasDialled) {
    log_.allow("is not believed: it is for other hosts, so dial one of these, or give the name in it");
    log_.allow("does not accept this side's certificate: its time has not come yet");
    authority("ca");
    Process& server = serve(certificate("ca", server_of("storage.example")));
    const na::TlsOptions own = certificate("ca", {"client", {}, false});
    Process& client = dial_from(own);
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission);
    expect_nothing_came(server);
    na::TlsOptions told = own;
    told.peer_name = "storage.example";
    Process& knowing = dial_from(told);
    EXPECT_EQ(sent(knowing, server.endpoint()), Errc::ok);
    told.peer_name = "other.example";
    Process& misled = dial_from(told);
    EXPECT_EQ(sent(misled, server.endpoint()), Errc::permission);
}

TEST_F(TlsProof, ACertificateOfAnotherAuthorityIsRefused) {
    log_.allow("is not believed: no CA in this side's file of ca has signed it, compare the files of ca");
    log_.allow("does not accept this side's certificate: no CA in its file of ca has signed it");
    authority("ca");
    authority("other");
    Process& server = serve(certificate("ca", server_of()));
    na::TlsOptions stranger = certificate("other", {"client", {}, false});
    Process& misled = dial_from(stranger);
    EXPECT_EQ(sent(misled, server.endpoint()), Errc::permission) << "it does not believe the server";
    stranger.ca_file = folder_.at("ca") + "/ca.pem";
    Process& client = dial_from(stranger);
    EXPECT_EQ(sent(client, server.endpoint()), Errc::permission) << "the server does not believe it";
    expect_nothing_came(server);
}

TEST_F(TlsProof, CertificatesHaveTheirTimeAndTheirUse) {
    log_.allow("is not believed: it has expired and wants a new one");
    log_.allow("is not believed: its time has not come yet, compare the clocks");
    log_.allow("is not believed: it is not for its side of a connection");
    log_.allow("does not accept this side's certificate: it, or the list of its CA there, has expired");
    log_.allow("does not accept this side's certificate: its time has not come yet (compare the clocks)");
    log_.allow("does not accept this side's certificate: it is not for this side of a connection");
    authority("ca");
    const SystemTime now = std::chrono::system_clock::now();
    const std::chrono::hours hour(1);
    Process& server = serve(certificate("ca", server_of()));
    Process& late = dial_from(certificate("ca", {"client", {}, false}, {now - 2 * hour, now - hour}));
    EXPECT_EQ(sent(late, server.endpoint()), Errc::permission) << "expired";
    Process& early = dial_from(certificate("ca", {"client", {}, false}, {now + hour, now + 2 * hour}));
    EXPECT_EQ(sent(early, server.endpoint()), Errc::permission) << "not yet valid";
    expect_nothing_came(server);
    const na::TlsOptions good = certificate("ca", {"client", {"127.0.0.1"}, false});
    Process& expired = serve(certificate("ca", server_of(), {now - 2 * hour, now - hour}));
    Process& client = dial_from(good);
    EXPECT_EQ(sent(client, expired.endpoint()), Errc::permission);
    Process& no_server = serve(good);
    EXPECT_EQ(sent(client, no_server.endpoint()), Errc::permission) << "a client's certificate is not for serving";
    EXPECT_EQ(sent(client, server.endpoint()), Errc::ok);
}

TEST_F(TlsProof, AListThatSaysNothingOfACertificateRefusesIt) {
    log_.allow("has a certificate of a CA that has no list in the file of crl");
    log_.allow("does not accept this side's certificate");
    log_.allow("knows neither a key nor a certificate of this side");
    authority("ca");
    authority("other");
    na::TlsOptions server_side = certificate("ca", server_of());
    const na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    server_side.crl_file = folder_.at("other") + "/ca.crl";
    Process& server = serve(server_side);
    EXPECT_EQ(sent(dial_from(ann), server.endpoint()), Errc::permission);
    expect_nothing_came(server);
    const auto code = [&](const std::string& list) {
        na::TlsOptions tls = server_side;
        tls.crl_file = list;
        return registry().open("tcps://", with(tls, false)).code();
    };
    EXPECT_EQ(code(folder_.at("none")), Errc::invalid_argument);
    EXPECT_EQ(code(server_side.ca_file), Errc::invalid_argument) << "no list";
    na::TlsOptions without_ca;
    without_ca.key_file = key("alice", hex_of_alice);
    without_ca.crl_file = server_side.crl_file;
    EXPECT_EQ(registry().open("tcps://", with(without_ca, false)).code(), Errc::invalid_argument);
}

TEST_F(TlsProof, OnlyItsOwnAuthorityRevokesACertificate) {
    authority("ca");
    authority("other");
    const na::TlsOptions ann = certificate("ca", {"ann", {}, false});
    EXPECT_EQ(tools::security::revoke(folder_.at("other"), {ann.certificate_file}).code(), Errc::invalid_argument);
    EXPECT_EQ(tools::security::revoke(folder_.at("ca"), {ann.private_key_file}).code(), Errc::invalid_argument);
    EXPECT_EQ(tools::security::revoke(folder_.at("ca"), {folder_.at("none")}).code(), Errc::not_found);
    EXPECT_EQ(tools::security::revoke(folder_.at("nowhere"), {}).code(), Errc::not_found);
    std::filesystem::copy_file(folder_.at("other") + "/ca.crl", folder_.at("ca") + "/ca.crl",
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(tools::security::revoke(folder_.at("ca"), {ann.certificate_file}).code(), Errc::invalid_argument)
        << "a list that another one has signed";
}

TEST_F(TlsProof, AKeyAndACertificateProveNothingToEachOther) {
    log_.allow("is not believed");
    log_.allow("this side");
    log_.allow("proves no key");
    authority("ca");
    Process& by_key = serve(alice());
    Process& by_certificate = serve(certificate("ca", server_of()));
    Process& key_holder = dial_from(alice());
    Process& certified = dial_from(certificate("ca", {"client", {}, false}));
    EXPECT_EQ(sent(key_holder, by_certificate.endpoint()), Errc::permission);
    EXPECT_EQ(sent(certified, by_key.endpoint()), Errc::permission);
    expect_nothing_came(by_key);
    expect_nothing_came(by_certificate);
}

TEST_F(TlsProof, APlainDialIsToldThatItIsTurnedDown) {
    log_.allow("takes protected connections only: reach it by tcps://");
    Process& server = serve(alice());
    Process& client = open("tcp://", with({}, false));
    EXPECT_EQ(sent(client, "tcp" + server.endpoint().substr(4)), Errc::permission);
    EXPECT_EQ(log_.allowed(), 1u);
    expect_nothing_came(server);
}

TEST_F(TlsProof, ADialOfAPlainPortLosesThePeer) {
    Process& server = open("tcp://127.0.0.1:0", with({}, true));
    Process& client = dial_from(alice());
    EXPECT_EQ(sent(client, "tcps" + server.endpoint().substr(3)), Errc::peer_lost);
    expect_nothing_came(server);
}

TEST_F(TlsProof, TheDiagnosisSaysWhoEncrypts) {
    const std::string found = serve(alice()).transport->diagnosis();
    EXPECT_NE(found.find("TLS 1.3 in user space, by OpenSSL 3."), std::string::npos) << found;
    EXPECT_EQ(found.find("the kernel has TLS as well") == std::string::npos,
              found.find("the kernel has no TLS") != std::string::npos)
        << found;
}

TEST_F(TlsProof, WhatIsMissingOrOpenToOthersIsRefused) {
    const na::Registry known = registry();
    const auto code = [&](const na::TlsOptions& tls) { return known.open("tcps://", with(tls, false)).code(); };
    EXPECT_EQ(code({}), Errc::invalid_argument);
    EXPECT_EQ(code({.key_file = folder_.at("none")}), Errc::not_found);
    const std::string path = key("alice", hex_of_alice);
    EXPECT_EQ(code({.key_file = path}), Errc::ok);
    EXPECT_TRUE(known.open("tcps://?key=" + path, {}).ok()) << "in the address as well";
    for (const auto perms : {std::filesystem::perms::group_read, std::filesystem::perms::others_write}) {
        std::filesystem::permissions(path, std::filesystem::perms::owner_read | perms);
        EXPECT_EQ(code({.key_file = path}), Errc::permission);
    }
    for (const std::string line : {"alice", "a b:00", "alice:0011", "alice:xx", ":0011223344556677889900112233445566",
                                   "alice:00112233445566778899001122334455667", "# nothing"}) {
        const std::string bad = support::put_key(folder_, "bad" + std::to_string(++files_), line);
        EXPECT_EQ(code({.key_file = bad}), Errc::invalid_argument) << line;
    }
    const std::string twice =
        support::put_key(folder_, "twice", std::string("a:") + hex_of_alice + "\na:" + hex_of_bob);
    EXPECT_EQ(code({.key_file = twice}), Errc::invalid_argument);

    authority("ca");
    na::TlsOptions good = certificate("ca", server_of());
    EXPECT_EQ(code(good), Errc::ok);
    na::TlsOptions half = good;
    half.ca_file.clear();
    EXPECT_EQ(code(half), Errc::invalid_argument);
    na::TlsOptions mixed = good;
    mixed.private_key_file = certificate("ca", server_of()).private_key_file;
    EXPECT_EQ(code(mixed), Errc::invalid_argument) << "another certificate's key";
    mixed.private_key_file = path;
    EXPECT_EQ(code(mixed), Errc::permission);
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    EXPECT_EQ(code(mixed), Errc::invalid_argument) << "no PEM";
}

}  // namespace
}  // namespace cinnabar::tcp
