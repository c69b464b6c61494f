// SPDX-License-Identifier: BSD-3-Clause
// Processes on tcps, or another scheme with TLS, each with secrets of its own, and a relay between them.
#pragma once

#include "fixture.hpp"
#include "raw_socket.hpp"
#include "security/certificates.hpp"
#include "support/test_key.hpp"

#include <cinnabar/na/registry.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tcp {

inline constexpr const char* hex_of_alice = "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf";
inline constexpr const char* hex_of_bob = "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfa0a1a2a3a4a5a6a7a8a9aaabacadaeaf";

// Passes on what two sides send to each other, changed as the test wants.
class Relay {
  public:
    // Receives bytes from one side, and returns the bytes to pass on instead.
    using Change = std::function<std::vector<std::byte>(std::vector<std::byte> bytes, bool from_dialler)>;

    explicit Relay(std::string to) : to_(std::move(to)) {}

    [[nodiscard]] std::string endpoint() const;  // with the scheme of the target
    void change(Change change) { change_ = std::move(change); }
    // Passes on what has arrived. When one side of a connection closes, the other side is closed as well.
    void step();
    // The bytes passed on over all connections.
    [[nodiscard]] std::size_t passed() const { return passed_; }
    void hang_up() { pairs_.clear(); }
    // Sends bytes of the test's own on the first connection.
    void to_target(ConstBytes bytes) { pairs_.front().target.write_if_open(bytes); }

  private:
    struct Pair {
        RawSocket dialler;
        RawSocket target;
    };
    void pass(RawSocket& from, RawSocket& to, bool from_dialler);

    RawListener listener_;
    const std::string to_;
    Change change_;
    std::vector<Pair> pairs_;
    std::size_t passed_ = 0;
};

// Must be a base class: the files must exist until the transports, which check them every second, are closed.
struct SecretFolder {
    support::Folder folder_;
};

class TlsTest : protected SecretFolder, public TcpTest {
  protected:
    // Closes the transports before their files are removed.
    ~TlsTest() override {
        for (Process& process : processes_) {
            close(process);
            process.transport.reset();
        }
    }
    // Makes a file with the line NAME:HEX.
    [[nodiscard]] std::string key(const std::string& name, const std::string& hex);
    [[nodiscard]] static na::TransportOptions with(na::TlsOptions tls, bool listen);
    Process& serve(const na::TlsOptions& tls) { return open(scheme_ + "://127.0.0.1:0", with(tls, true)); }
    Process& dial_from(const na::TlsOptions& tls) { return open(scheme_ + "://", with(tls, false)); }
    [[nodiscard]] na::TlsOptions alice() { return {.key_file = key("alice", hex_of_alice)}; }
    [[nodiscard]] na::TlsOptions bob() { return {.key_file = key("bob", hex_of_bob)}; }

    // Makes an authority in a folder of that name, and certificates that it signs.
    void authority(const std::string& name);
    [[nodiscard]] na::TlsOptions certificate(
        const std::string& authority, const tools::security::Subject& subject,
        const tools::security::Validity& validity = tools::security::valid_for(std::chrono::days(1)));
    [[nodiscard]] static tools::security::Subject server_of(std::string host = "127.0.0.1") {
        return {"server", {std::move(host)}, true};
    }

    // Sends a message from the client to the endpoint and returns the result: ok if, and only if, the message arrives.
    [[nodiscard]] Errc sent(Process& client, const std::string& endpoint, const std::function<void()>& meanwhile = {});
    void expect_nothing_came(const Process& server) {
        EXPECT_TRUE(server.receiver.messages.empty());
        EXPECT_TRUE(server.receiver.events.empty()) << "nobody hears of it";
    }

    std::string scheme_ = "tcps";
    unsigned files_ = 0;
};

}  // namespace cinnabar::tcp
