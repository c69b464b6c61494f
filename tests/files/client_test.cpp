// SPDX-License-Identifier: BSD-3-Clause
// The client of the save service, with a server that does not keep to the protocol.
#include "session/protocol.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

namespace cinnabar::files {
namespace {

hl::Task<Result<void>> try_open(Client& session) {
    Result<void> opened = co_await session.open();
    co_await session.close();
    co_return opened;
}

TEST(Client, AServerThatWantsTooMuchMemoryIsRefused) {
    std::uint64_t window_bytes = 0;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(there.serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; }).ok());
    ASSERT_TRUE(there
                    .serve(login_rpc,
                           [&window_bytes](const LoginIn&) {
                               LoginOut out;
                               out.window_bytes = window_bytes;
                               out.windows_max = 1'000'000;
                               return out;
                           })
                    .ok());
    for (const std::uint64_t asked : {std::uint64_t{0}, std::uint64_t{33} << 20, ~std::uint64_t{0}}) {
        window_bytes = asked;
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        EXPECT_EQ(hl::sync_wait(try_open(session)).code(), Errc::protocol) << asked;
    }
}

}  // namespace
}  // namespace cinnabar::files
