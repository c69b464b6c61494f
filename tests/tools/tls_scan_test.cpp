// SPDX-License-Identifier: BSD-3-Clause
// What programs that know nothing of Cinnabar find at a tcps port: `openssl s_client`, and the scanner sslscan.
#include "process.hpp"
#include "support/command_output.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>

namespace cinnabar::tools {
namespace {

using support::Folder;

std::string printed_by(const std::string& command) {
    return support::output_of("timeout 30 " + command + " </dev/null 2>&1");
}

Words lines_with(const std::string& text, const std::string& part) {
    Words found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.find(part) != std::string::npos) found.push_back(line);
    }
    return found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class TlsScan : public testing::Test {
  protected:
    TlsScan() {
        std::filesystem::create_directory(folder_.at("root"));
        EXPECT_EQ(run({"cert", "ca", folder_.at("ca")}).exit, 0);
        EXPECT_EQ(run({"cert", "server", folder_.at("ca"), "storage", "--host", "127.0.0.1"}).exit, 0);
        EXPECT_EQ(run({"cert", "client", folder_.at("ca"), "ann"}).exit, 0);
        serving_.emplace(folder_.at("root"), Words{"--listen", "tcps://127.0.0.1:0", "--cert", at("storage.pem"),
                                                   "--cert-key", at("storage.key"), "--ca", at("ca.pem")});
        EXPECT_TRUE(serving_->uri().starts_with("tcps://")) << serving_->process().err();
    }
    [[nodiscard]] std::string at(const std::string& name) const { return folder_.at("ca/" + name); }
    // HOST:PORT
    [[nodiscard]] std::string port() const { return serving_->uri().substr(std::string("tcps://").size()); }
    [[nodiscard]] std::string client(const std::string& options) const {
        return printed_by("openssl s_client -connect " + port() + " -CAfile " + at("ca.pem") + " -cert " +
                          at("ann.pem") + " -key " + at("ann.key") + " " + options);
    }

    Folder folder_;
    std::optional<Serving> serving_;
};

TEST_F(TlsScan, AnotherClientConnectsByTls13AndAnAuthenticatedCipher) {
    for (const std::string suite : {"TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}) {
        const auto found = client("-tls1_3 -alpn cinnabar/1 -ciphersuites " + suite);
        EXPECT_TRUE(has(found, "Cipher is " + suite)) << found;
        EXPECT_TRUE(has(found, "Verification: OK")) << found;
        EXPECT_TRUE(has(found, "ALPN protocol: cinnabar/1")) << found;
    }
}

TEST_F(TlsScan, OlderVersionsWeakerCiphersAndOtherProtocolsAreRefused) {
    for (const std::string options :
         {"-tls1 -cipher ALL@SECLEVEL=0", "-tls1_1 -cipher ALL@SECLEVEL=0", "-tls1_2 -cipher ALL@SECLEVEL=0",
          "-tls1_3 -cipher DEFAULT@SECLEVEL=0 -ciphersuites TLS_AES_128_CCM_8_SHA256", "-tls1_3 -groups ffdhe2048",
          "-tls1_3 -alpn h2"}) {
        const auto found = client(options);
        EXPECT_TRUE(has(found, "CONNECTED(")) << options << ": " << found;
        EXPECT_TRUE(has(found, "Cipher is (NONE)")) << options << ": " << found;
    }
}

TEST_F(TlsScan, AScannerFindsTls13AndAuthenticatedCiphersOnly) {
    const auto report = folder_.at("scan.xml");
    const auto said = printed_by("sslscan --xml=" + report + " " + port());
    const auto found = folder_.get("scan.xml");
    const auto versions = lines_with(found, "<protocol ");
    EXPECT_GE(versions.size(), 5u) << said;
    for (const auto& version : versions)
        EXPECT_EQ(has(version, "enabled=\"1\""), has(version, "version=\"1.3\"")) << version;
    const auto ciphers = lines_with(found, "<cipher ");
    EXPECT_EQ(ciphers.size(), 2u) << found;
    for (const auto& cipher : ciphers) {
        EXPECT_TRUE(has(cipher, "sslversion=\"TLSv1.3\"")) << cipher;
        EXPECT_TRUE(has(cipher, "_GCM_") || has(cipher, "_POLY1305_")) << cipher;
    }
}

}  // namespace
}  // namespace cinnabar::tools
