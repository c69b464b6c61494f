// SPDX-License-Identifier: BSD-3-Clause
#include "session/key.hpp"

#include "folder.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;

Key key(const char* text = "a key of at least 16 bytes") { return Key::from(text).value(); }

std::string key_file(const Folder& folder, const std::string& content, fs::perms perms = fs::perms::owner_read) {
    auto path = folder.put("key", content);
    fs::permissions(path, perms);
    return path;
}

TEST(Key, TheRightKeyIsAccepted) {
    const auto client = make_nonce();
    const auto server = make_nonce();
    for (const auto prover : {Prover::client, Prover::server})
        EXPECT_TRUE(key().accepts(key().prove(prover, client, server), prover, client, server));
}

TEST(Key, NothingElseIsAccepted) {
    const auto client = make_nonce();
    const auto server = make_nonce();
    const auto proof = key().prove(Prover::client, client, server);
    EXPECT_FALSE(key("another key of 16 bytes").accepts(proof, Prover::client, client, server));
    EXPECT_FALSE(key().accepts(proof, Prover::server, client, server)) << "sent back as if it were the server's";
    EXPECT_FALSE(key().accepts(proof, Prover::client, server, client));
    EXPECT_FALSE(key().accepts(proof, Prover::client, client, make_nonce())) << "replayed into another session";
    EXPECT_FALSE(key().accepts(Proof{}, Prover::client, client, server));
    for (std::size_t i = 0; i < proof.size(); ++i) {
        auto wrong = proof;
        wrong.at(i) ^= 1;
        EXPECT_FALSE(key().accepts(wrong, Prover::client, client, server));
    }
}

// HMAC-SHA256 as Python's hmac module computes it, so that both sides cannot be wrong in the same way.
TEST(Key, AProofIsHmacSha256) {
    Nonce client;
    Nonce server;
    client.fill(0x11);
    server.fill(0x22);
    const Proof expected{{0x86, 0x47, 0x02, 0xaf, 0x8f, 0x5b, 0x4a, 0xbb, 0x0b, 0x04, 0xcf,
                          0x6d, 0x1e, 0x69, 0xb4, 0x0e, 0xf0, 0x9b, 0x02, 0xbb, 0x38, 0x10,
                          0x45, 0x11, 0x84, 0xe2, 0x38, 0x0d, 0x6f, 0xb5, 0x92, 0x81}};
    EXPECT_EQ(Key::from("0123456789abcdef").value().prove(Prover::client, client, server), expected);
}

TEST(Key, NoncesDiffer) { EXPECT_NE(make_nonce(), make_nonce()); }

TEST(Key, ANewlineAtTheEndIsNotPartOfIt) {
    const Folder folder;
    const auto loaded = Key::load(key_file(folder, "a key of at least 16 bytes\n")).value();
    EXPECT_TRUE(loaded.accepts(key().prove(Prover::client, {}, {}), Prover::client, {}, {}));
}

TEST(Key, AnOpenFileIsRefused) {
    const Folder folder;
    for (const auto perms : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write})
        EXPECT_EQ(Key::load(key_file(folder, "a key of at least 16 bytes", fs::perms::owner_read | perms)).code(),
                  Errc::permission);
}

TEST(Key, SizesHaveLimits) {
    const Folder folder;
    EXPECT_EQ(Key::load(key_file(folder, "15 bytes of key")).code(), Errc::invalid_argument);
    fs::remove(folder.at("key"));
    EXPECT_EQ(Key::load(key_file(folder, "")).code(), Errc::invalid_argument);
    fs::remove(folder.at("key"));
    std::string longest(4096, 'k');
    longest += '\n';
    EXPECT_TRUE(Key::load(key_file(folder, longest)).ok());
    fs::remove(folder.at("key"));
    EXPECT_EQ(Key::load(key_file(folder, std::string(4097, 'k'))).code(), Errc::invalid_argument);
    fs::remove(folder.at("key"));
    EXPECT_EQ(Key::load(key_file(folder, std::string(100'000, 'k'))).code(), Errc::invalid_argument);
}

TEST(Key, WhatIsNotAKeyFile) {
    const Folder folder;
    EXPECT_EQ(Key::load(folder.at("missing")).code(), Errc::not_found);
    EXPECT_EQ(Key::load(folder.path().string()).code(), Errc::invalid_argument);
    EXPECT_EQ(Key::load("/dev/null").code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace cinnabar::tools
