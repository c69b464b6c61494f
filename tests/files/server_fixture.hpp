// SPDX-License-Identifier: BSD-3-Clause
// The server of the save service, and a client that can break the protocol.
#pragma once

#include "session/protocol.hpp"
#include "session/remote_error.hpp"
#include "session/signed_calls.hpp"
#include "support/content.hpp"
#include "wiretap.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {

struct ServerTest : testing::Test {
    explicit ServerTest(const std::filesystem::path& below = std::filesystem::temp_directory_path()) : folder(below) {}

    support::Folder folder;
    ServerOptions options;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    na::Addr to;
    Seals seals;
    std::unique_ptr<Wiretap> tap;
    bool tapped = false;
    bool keyed = false;
    bool holds = true;
    std::string scheme = "tcp";
    hl::NodeOptions there_options;
    hl::NodeOptions here_options{.progress_thread = false};

    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    void begin() {
        std::optional<Key> wanted;
        if (keyed) wanted.emplace(key());
        server = Server::make(Root::serve(folder.path().string()).value(), std::move(wanted), options, hooks).value();
        there = hl::Node::listen(scheme + "://127.0.0.1:0", there_options).value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        log_in();
    }
    void log_in() {
        here = hl::Node::open(scheme + "://", here_options).value();
        if (tapped) tap = std::make_unique<Wiretap>(there->endpoints().front());
        to = here->lookup(tapped ? tap->endpoint() : there->endpoints().front()).value();
        HelloIn hello;
        hello.version = protocol_version;
        const auto greeted = here->call(hello_rpc, to, hello).wait();
        ASSERT_TRUE(greeted.ok()) << greeted.error().message();
        LoginIn login;
        login.challenge = greeted->challenge;
        if (keyed) login.proof = key().prove_client(login.nonce, greeted->challenge.nonce);
        const Token token = here->call(login_rpc, to, login).wait().value().token;
        std::optional<Secret> secret;
        if (keyed) secret = key().session_secret(login.nonce, greeted->challenge.nonce, token);
        seals = Seals(token, std::move(secret));
        if (holds) {
            ASSERT_EQ(here->spawn(hold()), Errc::ok);
        }
    }
    hl::Task<void> hold() {
        HoldIn in;
        seals.stamp(in);
        hl::CallOptions call;
        call.deadline = hl::no_deadline;
        (void)co_await here->call(hold_rpc, to, in, call);
    }
    void TearDown() override {
        here.reset();
        there.reset();
    }
    [[nodiscard]] std::uint64_t open(const std::string& name, std::uint64_t bytes) {
        OpenIn in;
        in.name = name;
        in.bytes = bytes;
        in.attributes.mode = 0600;
        seals.stamp(in);
        return here->call(open_rpc, to, in).wait().value().file;
    }
    [[nodiscard]] Result<void> send(std::uint64_t file, std::uint64_t offset, std::size_t bytes) {
        std::vector<std::byte> content(bytes);
        WindowIn in;
        in.file = file;
        in.offset = offset;
        in.window = hl::Bulk(bulk::Region::expose(ConstBytes(content)).value(), na::Access::read);
        seals.stamp(in);
        hl::CallOptions call;
        call.deadline = std::chrono::seconds(60);
        auto sent = here->call(window_rpc, to, in, call).wait();
        if (!sent) return from_remote(std::move(sent).error());
        return {};
    }
    template <typename F>
    [[nodiscard]] bool wait_until(F reached) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!reached() && std::chrono::steady_clock::now() < end) (void)here->run_for(Microseconds{1000});
        return reached();
    }
};

}  // namespace cinnabar::files
