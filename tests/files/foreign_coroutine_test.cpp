// SPDX-License-Identifier: BSD-3-Clause
// A client of the save service whose tasks are awaited by a coroutine of another library.
#include "support/foreign_coroutine.hpp"

#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

constexpr std::uint64_t file_bytes = 9u << 20;  // several windows

struct Outcome {
    Errc opened = Errc::busy;
    Errc saved = Errc::busy;
    Errc saved_small = Errc::busy;
    Errc fetched = Errc::busy;
    Errc fetched_small = Errc::busy;
    hl::Executor* told_on = nullptr;
};

support::ForeignCoroutine use(Client& client, std::string path, const Root& into, std::promise<Outcome>& end) {
    Outcome outcome;
    const auto opened = co_await client.open();
    outcome.opened = opened.code();
    const std::string pulled = "pulled";
    const std::string pushed = "pushed";
    std::vector<hl::Task<Result<Moved>>> saves;
    const BytesMoved told = [&outcome](std::uint64_t) { outcome.told_on = hl::Executor::current(); };
    saves.push_back(client.save(path, pulled, {}, told));
    saves.push_back(client.save(path, pushed, {.push = true}));
    const auto saved = co_await hl::when_all(std::move(saves));
    outcome.saved = saved[0].ok() ? saved[1].code() : saved[0].code();
    const std::vector<SmallFile> small_files{{[&path] { return SourceFile::open(path + ".none"); }, "none"}};
    const auto small = co_await client.save_small(small_files);
    outcome.saved_small = small[0].code();
    const auto fetched = co_await client.fetch(pulled, into);
    outcome.fetched = fetched.code();
    const std::vector<ListedFile> listed{{"none", "none", 1}};
    const auto fetched_small = co_await client.fetch_small(listed, into);
    outcome.fetched_small = fetched_small[0].code();
    co_await client.close();
    end.set_value(outcome);
}

TEST(Client, CanBeAwaitedByACoroutineOfAnotherLibrary) {
    const support::Folder sources;
    const support::Folder served;
    const support::Folder fetched;
    const std::string content = support::pattern(file_bytes);
    (void)sources.put("file", content);
    const auto server = Server::make(Root::serve(served.path().string()).value(), std::nullopt, {}, {}).value();
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server->serve_on(there).ok());
    const auto here = hl::Node::open("tcp://").value();
    Client client(here, here.lookup(there.address()).value(), nullptr);
    const Root into = Root::open(fetched.path().string()).value();
    std::promise<Outcome> end;
    use(client, sources.at("file"), into, end);
    auto ended = end.get_future();
    ASSERT_EQ(ended.wait_for(std::chrono::minutes(1)), std::future_status::ready);
    const Outcome outcome = ended.get();
    EXPECT_EQ(outcome.opened, Errc::ok);
    EXPECT_EQ(outcome.saved, Errc::ok);
    EXPECT_EQ(outcome.saved_small, Errc::not_found);
    EXPECT_EQ(outcome.fetched, Errc::ok);
    EXPECT_EQ(outcome.fetched_small, Errc::not_found);
    EXPECT_EQ(outcome.told_on, &here.executor()) << "on the loop, wherever it was awaited";
    EXPECT_EQ(served.get("pushed"), content);
    EXPECT_EQ(fetched.get("pulled"), content);
}

}  // namespace
}  // namespace cinnabar::files
