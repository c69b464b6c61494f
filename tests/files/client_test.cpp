// SPDX-License-Identifier: BSD-3-Clause
// The client of the save service, with a server that breaks the protocol.
#include "session/protocol.hpp"
#include "session/signed_calls.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

hl::Task<Result<void>> try_open(Client& session) {
    Result<void> opened = co_await session.open();
    co_await session.close();
    co_return opened;
}

// Opens a session with a server that answers each login like this.
Result<void> open_with(const LoginOut& answer) {
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    EXPECT_TRUE(there.serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; }).ok());
    EXPECT_TRUE(there.serve(login_rpc, [&answer](const LoginIn&) { return answer; }).ok());
    const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
    return hl::sync_wait(try_open(session));
}

TEST(Client, AServerThatWantsTooMuchMemoryIsRefused) {
    LoginOut answer;
    answer.windows_max = 1'000'000;
    for (const std::uint64_t asked : {std::uint64_t{0}, std::uint64_t{33} << 20, ~std::uint64_t{0}}) {
        answer.window_bytes = asked;
        EXPECT_EQ(open_with(answer).code(), Errc::protocol) << asked;
    }
}

// Otherwise it could have the client take all files for the same.
TEST(Client, AServerWhoseFileSystemCannotBeIsRefused) {
    LoginOut answer;
    answer.window_bytes = 4096;
    answer.windows_max = 1;
    EXPECT_TRUE(open_with(answer).ok());
    answer.precision.time_step_ns = AttributePrecision::time_step_ns_max + 1;
    EXPECT_EQ(open_with(answer).code(), Errc::protocol);
}

// A server that accepts any login, opens and commits any file, and answers push calls as the test wants.
struct PushingClientTest : testing::Test {
    static constexpr std::uint64_t window = 1u << 20;
    support::Folder folder;
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    std::vector<std::byte> memory = std::vector<std::byte>(window);
    Seals seals{Token{}, std::nullopt};

    void SetUp() override {
        const auto serves = [this](const auto& rpc, auto handler) {
            ASSERT_TRUE(there.serve(rpc, std::move(handler)).ok());
        };
        serves(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serves(login_rpc, [](const LoginIn&) { return LoginOut{{}, {}, window, 1}; });
        serves(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serves(open_rpc, [](const OpenIn&) { return OpenOut{1}; });
        serves(commit_rpc, [](const CommitIn&) { return CommitOut{}; });
        serves(abort_rpc, [](const AbortIn&) {});
    }
    using Push = std::function<hl::Task<Result<void>>(hl::Request<PushIn> request)>;
    Result<Moved> save(std::uint64_t bytes, Push push) {
        (void)folder.put("a", support::pattern(bytes));
        EXPECT_TRUE(there.serve(push_rpc, std::move(push)).ok());
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(push_one(session, folder.at("a")));
    }
    static hl::Task<Result<Moved>> push_one(Client& session, std::string path) {
        const std::string name = "a";
        Result<Moved> moved = Errc::closed;
        if (auto opened = co_await session.open(); opened) moved = co_await session.save(path, name, {.push = true});
        co_await session.close();
        co_return moved;
    }
    // Asks the client to fill a window of its file.
    hl::Task<void> ask_for(hl::NodeRef node, na::Addr client, std::uint64_t offset) {
        FillIn fill;
        fill.file = 1;
        fill.offset = offset;
        fill.buffer = hl::Bulk(bulk::Region::expose(Bytes(memory), na::Access::write).value(), na::Access::write);
        seals.stamp(fill);
        (void)co_await node.call(fill_rpc, client, fill);
    }
};

TEST_F(PushingClientTest, AServerThatAsksForAWindowManyTimesEndsTheFile) {
    const auto moved = save(window, [this](hl::Request<PushIn> request) -> hl::Task<Result<void>> {
        std::vector<hl::Task<void>> many;
        for (int i = 0; i < 40; ++i) many.push_back(ask_for(request.node(), request.source(), 0));
        (void)co_await hl::when_all(std::move(many));
        co_return Result<void>();
    });
    ASSERT_EQ(moved.code(), Errc::protocol);
    EXPECT_NE(moved.error().message().find("more than once"), std::string::npos) << moved.error().message();
}

TEST_F(PushingClientTest, AServerThatTakesWindowsItHasNotAskedForEndsTheFile) {
    const auto moved = save(2 * window, [this](hl::Request<PushIn> request) -> hl::Task<Result<void>> {
        // The window waits at the client for the one before it.
        if (request->offset == 0) {
            EXPECT_EQ(there.spawn(ask_for(there, request.source(), window)), Errc::ok);
        }
        co_return Result<void>();
    });
    ASSERT_EQ(moved.code(), Errc::protocol);
    EXPECT_NE(moved.error().message().find("did not ask for"), std::string::npos) << moved.error().message();
}

// A server that makes false claims about files and folders.
hl::Task<Result<Moved>> open_and_fetch(Client& session, const Root& into, FetchMode mode) {
    CINNABAR_CO_TRY_VOID(co_await session.open());
    Result<Moved> fetched = co_await session.fetch("file", into, mode);
    mode.as = "a name that is longer than a short string";
    if (!fetched) fetched = co_await session.fetch("file", into, mode);
    co_await session.close();
    co_return fetched;
}
hl::Task<Result<Listing>> open_and_list(Client& session, ExtendedKinds extended) {
    CINNABAR_CO_TRY_VOID(co_await session.open());
    Result<Listing> listing = co_await session.list("folder", extended);
    co_await session.close();
    co_return listing;
}

void accept_anybody(const hl::Node& there) {
    ASSERT_TRUE(there.serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; }).ok());
    ASSERT_TRUE(there
                    .serve(login_rpc,
                           [](const LoginIn&) {
                               LoginOut out;
                               out.window_bytes = 4096;
                               out.windows_max = 1;
                               return out;
                           })
                    .ok());
}

std::vector<ExtendedAttribute> too_much() { return {{"user.x", std::string(extended_bytes_max, 'a')}}; }

TEST(Client, AFileThatCannotBeIsRefused) {
    const support::Folder folder;
    const auto into = Root::open(folder.path().string()).value();
    AskOut told;
    bool given_up = false;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    ASSERT_TRUE(there.serve(ask_rpc, [&told](const AskIn&) { return told; }).ok());
    ASSERT_TRUE(there.serve(finish_rpc, [](const FinishIn&) -> Result<FinishOut> { return Errc::io; }).ok());
    ASSERT_TRUE(there.serve(abort_rpc, [&given_up](const AbortIn&) { given_up = true; }).ok());
    const auto fetch = [&](const FetchMode& mode = {}) {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(open_and_fetch(session, into, mode)).code();
    };
    EXPECT_EQ(fetch(), Errc::io) << "an empty file";
    told.bytes = file_bytes_max + 1;
    EXPECT_EQ(fetch(), Errc::protocol);
    EXPECT_TRUE(given_up);
    told = {};
    told.attributes.modified_ns = 1'000'000'000;
    EXPECT_EQ(fetch(), Errc::protocol);
    told = {};
    told.attributes.extended = too_much();
    EXPECT_EQ(fetch({.extended = {.user = true}}), Errc::protocol);
    told.attributes.extended = {{"user.x", "1"}};
    EXPECT_EQ(fetch({.exact = true, .extended = {.user = true}}), Errc::io) << "an empty file with what was asked for";
    EXPECT_EQ(fetch({.exact = true}), Errc::protocol) << "attributes that nobody asked for";
    EXPECT_EQ(fetch({.exact = true, .extended = {.acls = true}}), Errc::protocol);
    told.attributes.extended = {{"system.posix_acl_access", "1"}};
    EXPECT_EQ(fetch({.exact = true, .extended = {.user = true}}), Errc::protocol);
    told.attributes.extended = {{"security.capability", "1"}};
    EXPECT_EQ(fetch({.exact = true, .extended = {.user = true, .acls = true}}), Errc::protocol);
    EXPECT_TRUE(folder.list().empty());
}

hl::Task<Result<Verified>> open_and_verify(Client& session) {
    Result<Verified> verified = Errc::closed;
    if (auto opened = co_await session.open(); opened) verified = co_await session.verify("file");
    co_await session.close();
    co_return verified;
}

TEST(Client, AFileThatAServerReadsWithoutEndIsRefused) {
    std::vector<SumOut> told;
    std::vector<SumIn> asked;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    ASSERT_TRUE(there
                    .serve(sum_rpc,
                           [&](const SumIn& in) {
                               asked.push_back(in);
                               return told.at(asked.size() - 1);
                           })
                    .ok());
    const auto verify = [&] {
        asked.clear();
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(open_and_verify(session));
    };
    told = {{7, 10, {}}, {7, 20, {}}, {0, 30, {30, 5, {}}}};
    const auto verified = verify();
    ASSERT_TRUE(verified.ok()) << verified.error().message();
    EXPECT_EQ(verified->bytes, 30u);
    EXPECT_EQ(verified->checksum, 5u);
    ASSERT_EQ(asked.size(), 3u);
    EXPECT_EQ(asked[0].file, 0u);
    EXPECT_EQ(asked[2].file, 7u);
    told = {{7, 10, {}}, {7, 10, {}}};
    EXPECT_EQ(verify().code(), Errc::protocol) << "it does not get on";
    told = {{7, 0, {}}};
    EXPECT_EQ(verify().code(), Errc::protocol);
}

hl::Task<Result<std::vector<Remains>>> open_and_list_remains(Client& session) {
    Result<std::vector<Remains>> remains = Errc::closed;
    if (auto opened = co_await session.open(); opened) remains = co_await session.list_remains();
    co_await session.close();
    co_return remains;
}

TEST(Client, RemainsThatCannotBeAreRefused) {
    RemainsOut told;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    ASSERT_TRUE(there.serve(remains_rpc, [&told](const RemainsIn&) { return told; }).ok());
    const auto list = [&] {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(open_and_list_remains(session)).code();
    };
    told.remains = {{"a", 2, 1, 1, 0}, {"b", 2, 1, 1, 0}};
    EXPECT_EQ(list(), Errc::ok);
    told.more = true;
    EXPECT_EQ(list(), Errc::protocol) << "the same again and again";
    told.more = false;
    for (const auto* name : {"", "..", "/etc"}) {
        told.remains[1].name = name;
        EXPECT_EQ(list(), Errc::protocol) << name;
    }
    told.remains.clear();
    for (std::size_t i = 0; i <= remains_max; ++i) told.remains.push_back({std::string(i + 1, 'a'), 2, 1, 1, 0});
    EXPECT_EQ(list(), Errc::protocol) << "more than there can be";
}

hl::Task<Result<void>> open_and_list_two(Client& session, ListingBudget& budget) {
    CINNABAR_CO_TRY_VOID(co_await session.open());
    auto first = session.list("a", {}, {}, &budget);
    auto second = session.list("b", {}, {}, &budget);
    auto [a, b] = co_await hl::when_all(std::move(first), std::move(second));
    co_await session.close();
    EXPECT_EQ(a.code(), Errc::protocol);
    EXPECT_EQ(b.code(), Errc::protocol);
    co_return Result<void>();
}

// How many pages a server sends that lists two folders without end, 100 names of four bytes in each page.
unsigned pages_of_two_without_end(ListingBudget& budget) {
    std::atomic<unsigned> pages = 0;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    const auto list = [&pages](const ListIn& in) {
        ++pages;
        Listing page;
        page.entries.resize(100);
        for (auto& entry : page.entries) entry.name = "file";
        page.cursor = in.cursor + 1;
        return page;
    };
    EXPECT_TRUE(there.serve(list_rpc, list).ok());
    const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
    EXPECT_TRUE(hl::sync_wait(open_and_list_two(session, budget)).ok());
    EXPECT_TRUE(budget.exceeded);
    return pages.load();
}

TEST(Client, ListingsThatShareABudgetAreCountedAsTheyCome) {
    ListingBudget budget;
    budget.entries = 1000;
    EXPECT_EQ(pages_of_two_without_end(budget), 12u) << "ten that were taken, and one of each listing that was refused";
    EXPECT_EQ(budget.entries, 0u);
}

TEST(Client, ListingsThatShareABudgetHaveItsBytes) {
    ListingBudget budget;
    EXPECT_EQ(budget.bytes, 1u << 30);
    budget.bytes = 5 * 400 + 399;
    EXPECT_EQ(pages_of_two_without_end(budget), 7u) << "five that were taken, and one of each listing that was refused";
    EXPECT_EQ(budget.bytes, 399u);
}

TEST(Client, AListingThatCannotBeIsRefused) {
    Listing told;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    ASSERT_TRUE(there.serve(list_rpc, [&told](const ListIn&) { return told; }).ok());
    const auto list = [&](ExtendedKinds extended = {}) {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(open_and_list(session, extended)).code();
    };
    Entry good;
    good.name = "file";
    told.entries = {good};
    EXPECT_EQ(list(), Errc::ok);
    told.entries[0].name = staging_folder;
    EXPECT_EQ(list(), Errc::ok) << "of another server, whose root lies below this one's";
    for (const auto* name : {"", ".", "..", "../x", "a/b", "/etc"}) {
        told.entries = {good, good};
        told.entries[1].name = name;
        EXPECT_EQ(list(), Errc::protocol) << name;
    }
    told.entries = {good};
    told.entries[0].bytes = file_bytes_max + 1;
    EXPECT_EQ(list(), Errc::protocol) << "a size that no file has";
    told.entries = {good};
    told.entries[0].kind = static_cast<EntryKind>(9);
    EXPECT_EQ(list(), Errc::protocol);
    told.entries = {good};
    told.entries[0].kind = EntryKind::link;
    EXPECT_EQ(list(), Errc::protocol) << "a link to nothing";
    told.entries[0].target.assign(name_bytes_max + 1, 'a');
    EXPECT_EQ(list(), Errc::protocol) << "a target that no link has";
    told.entries = {good};
    told.entries[0].attributes.extended = too_much();
    EXPECT_EQ(list({.user = true}), Errc::protocol);
    told.entries = {good};
    told.attributes.extended = too_much();
    EXPECT_EQ(list({.user = true}), Errc::protocol);
    told.attributes.extended = {{"system.posix_acl_default", "1"}};
    EXPECT_EQ(list({.user = true, .acls = true}), Errc::ok);
    EXPECT_EQ(list({.user = true}), Errc::protocol) << "an ACL that nobody asked for";
    told.attributes = {};
    told.entries[0].attributes.extended = {{"user.x", "1"}};
    EXPECT_EQ(list({.user = true}), Errc::ok);
    EXPECT_EQ(list(), Errc::protocol) << "an attribute that nobody asked for";
    told.entries = {good};
    told.cursor = 7;
    EXPECT_EQ(list(), Errc::protocol) << "a listing that comes again and again";
    told.entries.clear();
    EXPECT_EQ(list(), Errc::protocol) << "one that never ends";
}

hl::Task<Result<Seen>> open_and_look(Client& session, ExtendedKinds extended) {
    CINNABAR_CO_TRY_VOID(co_await session.open());
    Result<Seen> seen = co_await session.look("file", extended);
    co_await session.close();
    co_return seen;
}

TEST(Client, AttributesThatNobodyAskedForAreRefused) {
    LookOut told;
    told.entry.name = "file";
    told.entry.attributes.extended = {{"system.posix_acl_access", "1"}};
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    accept_anybody(there);
    ASSERT_TRUE(there.serve(look_rpc, [&told](const LookIn&) { return told; }).ok());
    const auto look = [&](ExtendedKinds extended) {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        return hl::sync_wait(open_and_look(session, extended)).code();
    };
    EXPECT_EQ(look({.acls = true}), Errc::ok);
    EXPECT_EQ(look({}), Errc::protocol);
    EXPECT_EQ(look({.user = true}), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::files
