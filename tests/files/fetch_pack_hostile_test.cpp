// SPDX-License-Identifier: BSD-3-Clause
// A client that fetches packs from a server that lies.
#include "file/journal.hpp"
#include "session/protocol.hpp"
#include "session/remote_error.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

ConstBytes raw_bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

GivenFile given_file(const std::string& content) {
    return {{}, block_checksum(raw_bytes(content)), {.mode = 0644}, false};
}

GivenFile not_given(Errc code, const std::string& text) { return {{code, text}, 0, {}, false}; }

// A server that accepts any login, sends `content`, and then answers with `told`, whatever it was asked for. Change
// them only while no call is in progress.
struct LyingGiverTest : testing::Test {
    support::Folder folder;
    Root into = Root::open(folder.path().string()).value();
    std::string content;
    ReadPackOut told;
    std::string one = "abc";  // the content of each file that is fetched by itself
    std::atomic<unsigned> asked = 0;
    std::atomic<unsigned> packs = 0;
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    const std::vector<ListedFile> two{{"a", "a", 3}, {"b", "b", 3}};

    template <typename R, typename H>
    void serve(const R& rpc, H handler) {
        ASSERT_TRUE(there.serve(rpc, std::move(handler)).ok());
    }
    void SetUp() override {
        serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serve(login_rpc, [](const LoginIn&) { return LoginOut{{}, {}, 1u << 20, 1}; });
        serve(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serve(ask_rpc, [this](const AskIn&) {
            ++asked;
            AskOut out;
            out.file = 1;
            out.bytes = one.size();
            out.attributes.mode = 0644;
            return out;
        });
        serve(read_rpc, [this](hl::Request<ReadIn> request) -> hl::Task<Result<ReadOut>> {
            const auto moved = co_await request->window.push(raw_bytes(one));
            if (!moved) co_return moved.error();
            co_return ReadOut{};
        });
        serve(finish_rpc, [this](const FinishIn&) { return FinishOut{block_checksum(raw_bytes(one))}; });
        serve(abort_rpc, [](const AbortIn&) {});
    }
    void serve_packs() {
        serve(read_pack_rpc, [this](hl::Request<ReadPackIn> request) -> hl::Task<Result<ReadPackOut>> {
            ++packs;
            if (!content.empty()) {
                const auto moved = co_await request->window.push(raw_bytes(content));
                if (!moved) co_return moved.error();
            }
            co_return told;
        });
    }
    static hl::Task<std::vector<Result<Moved>>> open_and_fetch(Client& session, const std::vector<ListedFile>& files,
                                                               const Root& into, FetchMode mode) {
        std::vector<Result<Moved>> moved;
        if (auto opened = co_await session.open(); opened) {
            moved = co_await session.fetch_small(files, into, mode);
        }
        co_await session.close();
        co_return moved;
    }
    std::vector<Result<Moved>> fetch(const std::vector<ListedFile>& files, FetchMode mode = {}) {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        auto moved = hl::sync_wait(open_and_fetch(session, files, into, mode)).value();
        EXPECT_EQ(moved.size(), files.size());
        return moved;
    }
};

TEST_F(LyingGiverTest, AWrongChecksumIsAnErrorOfItsFile) {
    serve_packs();
    content = "abcdef";
    told.files = {given_file("abc"), given_file("xyz")};
    const auto moved = fetch(two);
    EXPECT_TRUE(moved.at(0).ok()) << moved[0].error().message();
    EXPECT_EQ(moved.at(1).code(), Errc::bad_checksum);
    EXPECT_EQ(folder.list(), std::vector<std::string>{"a"});
    EXPECT_EQ(folder.get("a"), "abc");
}

TEST_F(LyingGiverTest, AContentThatDidNotComeIsAnError) {
    serve_packs();
    told.files = {given_file("abc"), given_file("def")};
    for (const auto& moved : fetch(two)) EXPECT_EQ(moved.code(), Errc::bad_checksum);
    EXPECT_TRUE(folder.list().empty());
}

TEST_F(LyingGiverTest, AnswersForOtherFilesAreRefused) {
    serve_packs();
    content = "abcdef";
    for (const std::size_t count : {0u, 1u, 3u, 1000u}) {
        told.files.assign(count, given_file("abc"));
        for (const auto& moved : fetch(two)) EXPECT_EQ(moved.code(), Errc::protocol) << count;
    }
    EXPECT_TRUE(folder.list().empty());
}

TEST_F(LyingGiverTest, AttributesThatCannotBeAreErrorsOfTheirFiles) {
    serve_packs();
    content = "abcdef";
    told.files = {given_file("abc"), given_file("def")};
    auto& attributes = told.files[0].attributes;
    attributes.modified_ns = 1'000'000'000;
    EXPECT_EQ(fetch(two).at(0).code(), Errc::protocol);
    EXPECT_EQ(folder.list(), std::vector<std::string>{"b"});
    attributes = {};
    attributes.extended = {{"system.posix_acl_access", "1"}};
    FetchMode mode{.existing = Existing::replace, .exact = true};
    EXPECT_EQ(fetch(two, mode).at(0).code(), Errc::protocol) << "nobody asked for it";
    mode.extended.user = true;
    EXPECT_EQ(fetch(two, mode).at(0).code(), Errc::protocol);
    attributes.extended = {{"user.x", std::string(extended_bytes_max, 'a')}};
    EXPECT_EQ(fetch(two, mode).at(0).code(), Errc::protocol);
    EXPECT_EQ(folder.list(), std::vector<std::string>{"b"});
}

TEST_F(LyingGiverTest, ReasonsAreToldAsTheServersAndAreFitToPrint) {
    serve_packs();
    content = "abcdef";
    told.files = {not_given(static_cast<Errc>(4), "x\x1b[2J"), not_given(Errc::not_found, "no \x1b[2J")};
    const auto moved = fetch(two);
    EXPECT_EQ(moved.at(0).code(), Errc::protocol);
    EXPECT_EQ(moved.at(1).code(), Errc::not_found);
    for (const auto& one_moved : moved) {
        const auto message = one_moved.error().message();
        EXPECT_EQ(message.find('\x1b'), message.npos) << message;
        EXPECT_NE(message.find("the server says"), message.npos) << message;
    }
}

TEST_F(LyingGiverTest, AFileThatIsNotInThePackIsFetchedByItselfAndOnce) {
    serve_packs();
    content = "abcdef";
    told.files = {not_given(Errc::again, "later"), given_file("def")};
    for (const auto& moved : fetch(two)) EXPECT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_EQ(asked.load(), 1u);
    EXPECT_EQ(folder.get("a"), "abc");
    one = "more than it listed";
    const auto moved = fetch(two, {.existing = Existing::replace});
    EXPECT_EQ(moved.at(0).code(), Errc::bad_checksum);
    EXPECT_TRUE(moved.at(1).ok());
    EXPECT_EQ(folder.get("a"), "abc") << "the older one";
    EXPECT_EQ(asked.load(), 2u);
}

// The version of the protocol says that a server has the call.
TEST_F(LyingGiverTest, AServerWithoutPacksIsNoneOfThisVersion) {
    for (const auto& moved : fetch(two)) EXPECT_EQ(moved.code(), Errc::no_such_rpc);
    EXPECT_EQ(asked.load(), 0u) << "the session is of no use any more";
    EXPECT_TRUE(folder.list().empty());
}

TEST_F(LyingGiverTest, AServerThatDoesNotAnswerIsNotWaitedForFileByFile) {
    serve(read_pack_rpc, [](const ReadPackIn&) -> Result<ReadPackOut> {
        return to_remote(Error{Errc::timed_out, "its disk hangs"});
    });
    auto files = two;
    files.push_back({"large", "large", small_file_bytes_max + 1});
    for (const auto& moved : fetch(files)) EXPECT_EQ(moved.code(), Errc::timed_out);
    EXPECT_EQ(asked.load(), 0u);
}

TEST_F(LyingGiverTest, APackThatFailsEndsItsFiles) {
    serve(read_pack_rpc, [this](const ReadPackIn&) -> Result<ReadPackOut> {
        ++packs;
        return to_remote(Error{Errc::io, "the disk is broken"});
    });
    for (const auto& moved : fetch(two)) EXPECT_EQ(moved.code(), Errc::io);
    EXPECT_EQ(packs.load(), 1u);
    EXPECT_EQ(asked.load(), 0u) << "what was in the pack is not tried again";
}

}  // namespace
}  // namespace cinnabar::files
