// SPDX-License-Identifier: BSD-3-Clause
// A server of the save service made by hand, whose answers a test chooses, and a client that is logged in.
#pragma once

#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::files {

struct HandmadeServer : testing::Test {
    explicit HandmadeServer(const std::filesystem::path& below = std::filesystem::temp_directory_path())
        : folder(below) {}

    support::Folder folder;
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    std::optional<hl::Node> here;
    std::optional<Client> client;

    // Logs the client in; the file to save is "a".
    void begin(std::uint64_t window_bytes, const std::string& content) {
        serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serve(login_rpc, [window_bytes](const LoginIn&) { return LoginOut{{}, {}, window_bytes, 1}; });
        serve(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serve(abort_rpc, [](const AbortIn&) {});
        (void)folder.put("a", content);
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there.endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    template <typename R, typename F>
    void serve(const R& rpc, F f) {
        ASSERT_TRUE(there.serve(rpc, std::move(f)).ok());
    }
    void TearDown() override { EXPECT_TRUE(hl::sync_wait(client->close()).ok()); }
};

}  // namespace cinnabar::files
