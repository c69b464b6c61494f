// SPDX-License-Identifier: BSD-3-Clause
#include "session/secret.hpp"
#include "support/content.hpp"
#include "support/memory_map.hpp"

#include <cinnabar/base/secret_bytes.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/key.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;

Key key(const char* text = "a key of at least 16 bytes") { return Key::from(text).value(); }

std::string key_file(const Folder& folder, const std::string& content, fs::perms perms = fs::perms::owner_read) {
    auto path = folder.put("key", content);
    fs::permissions(path, perms);
    return path;
}

TEST(Key, TheRightKeyIsAccepted) {
    const auto client = make_nonce();
    const auto server = make_nonce();
    EXPECT_TRUE(key().accepts_client(key().prove_client(client, server), client, server));
    const Admission admission{client, server, {1, 2}, 3, 4};
    EXPECT_TRUE(key().accepts_server(key().prove_server(admission), admission));
}

TEST(Key, NothingElseIsAccepted) {
    const auto client = make_nonce();
    const auto server = make_nonce();
    const auto proof = key().prove_client(client, server);
    EXPECT_FALSE(key("another key of 16 bytes").accepts_client(proof, client, server));
    EXPECT_FALSE(key().accepts_client(proof, server, client));
    EXPECT_FALSE(key().accepts_client(proof, client, make_nonce())) << "replayed into another session";
    EXPECT_FALSE(key().accepts_client(Proof{}, client, server));
    EXPECT_FALSE(key().accepts_client(key().prove_server({client, server, {}, 0, 0}), client, server))
        << "the server's, sent back as if it were the client's";
    for (std::size_t i = 0; i < proof.size(); ++i) {
        auto wrong = proof;
        wrong.at(i) ^= 1;
        EXPECT_FALSE(key().accepts_client(wrong, client, server));
    }
}

TEST(Key, TheServersProofCoversAllOfItsAnswer) {
    const Admission said{make_nonce(), make_nonce(), {1, 2}, 3, 4};
    const auto proof = key().prove_server(said);
    for (const auto& [token, window, windows] :
         {std::tuple{Token{9, 2}, 3u, 4u}, {Token{1, 9}, 3u, 4u}, {Token{1, 2}, 9u, 4u}, {Token{1, 2}, 3u, 9u}})
        EXPECT_FALSE(key().accepts_server(proof, {said.client, said.server, token, window, windows}));
    for (const AttributePrecision precision : {AttributePrecision{2}, {1, 0}, {1, said.precision.oldest_s, 0}})
        EXPECT_FALSE(key().accepts_server(proof, {said.client, said.server, {1, 2}, 3, 4, precision}));
}

// HMAC-SHA256 as computed by Python's hmac module, so that both sides cannot be wrong in the same way.
TEST(Key, AProofIsHmacSha256) {
    Nonce client;
    Nonce server;
    client.fill(0x11);
    server.fill(0x22);
    const Proof expected{{0x86, 0x47, 0x02, 0xaf, 0x8f, 0x5b, 0x4a, 0xbb, 0x0b, 0x04, 0xcf,
                          0x6d, 0x1e, 0x69, 0xb4, 0x0e, 0xf0, 0x9b, 0x02, 0xbb, 0x38, 0x10,
                          0x45, 0x11, 0x84, 0xe2, 0x38, 0x0d, 0x6f, 0xb5, 0x92, 0x81}};
    const auto known = Key::from("0123456789abcdef").value();
    EXPECT_EQ(known.prove_client(client, server), expected);
    // The signature of a call, made with the secret of a session.
    const Proof call =
        known.session_secret(client, server, {0x0102030405060708, 9}).sign(MacText("x").add(1).add_text("yz"));
    EXPECT_EQ(call, (Proof{{0xbf, 0xb6, 0x34, 0x43, 0x23, 0xb5, 0x62, 0x26, 0x03, 0x53, 0xde,
                            0x33, 0x0f, 0x46, 0xd4, 0x92, 0xef, 0x88, 0x7e, 0xb4, 0xe8, 0x72,
                            0x38, 0x68, 0xbc, 0x87, 0x6b, 0x5d, 0x08, 0xe6, 0xf3, 0x6a}}));
}

TEST(Key, EachLoginHasASecretOfItsOwn) {
    const auto client = make_nonce();
    const auto server = make_nonce();
    const auto first = key().session_secret(client, server, {1, 2});
    const auto proof = first.sign(MacText("call"));
    EXPECT_TRUE(first.accepts(proof, MacText("call")));
    EXPECT_FALSE(key().session_secret(client, server, {1, 3}).accepts(proof, MacText("call")))
        << "the same login, sent again";
    EXPECT_FALSE(key().session_secret(client, make_nonce(), {1, 2}).accepts(proof, MacText("call")));
    EXPECT_FALSE(key("another key of 16 bytes").session_secret(client, server, {1, 2}).accepts(proof, MacText("call")));
}

TEST(Key, NoncesDiffer) { EXPECT_NE(make_nonce(), make_nonce()); }

TEST(Key, ANewlineAtTheEndIsNotPartOfIt) {
    const Folder folder;
    const auto loaded = Key::load(key_file(folder, "a key of at least 16 bytes\n")).value();
    EXPECT_TRUE(loaded.accepts_client(key().prove_client({}, {}), {}, {}));
}

// The bytes of a key with all bits turned; memory has no other copy of it.
std::string turned_key() {
    const Nonce random = make_nonce();
    std::string turned(random.begin(), random.end());
    turned.back() = 'x';  // the key does not end with a newline, which would be dropped
    return turned;
}

SecretBytes turned_back(const std::string& turned) {
    SecretBytes plain = SecretBytes::make(turned.size()).value();
    std::ranges::transform(turned, plain.bytes().begin(), [](char c) { return static_cast<std::byte>(~c); });
    return plain;
}

void expect_only_out_of_dumps(const std::string& turned) {
    const auto holders = support::MemorySearch(turned).holders();
    EXPECT_FALSE(holders.empty());
    for (const auto& holder : holders) EXPECT_TRUE(holder.has("dd")) << "a core dump has the key:" << holder.flags;
}

TEST(Key, IsInNoCoreDump) {
    const std::string turned = turned_key();
    const auto made = Key::from(turned_back(turned).text()).value();
    expect_only_out_of_dumps(turned);
}

TEST(Key, AFileLeavesNoCopyOfItForACoreDump) {
    const Folder folder;
    const std::string turned = turned_key();
    {
        const SecretBytes plain = turned_back(turned);
        const UniqueFd file(::open(folder.at("key").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
        ASSERT_EQ(::write(file.get(), plain.bytes().data(), plain.bytes().size()), 32);
    }
    const auto loaded = Key::load(folder.at("key")).value();
    expect_only_out_of_dumps(turned);
}

TEST(Key, IsWipedAtItsEnd) {
    const std::string turned = turned_key();
    (void)Key::from(turned_back(turned).text()).value();
    EXPECT_TRUE(support::MemorySearch(turned).holders().empty());
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
}  // namespace cinnabar::files
