// SPDX-License-Identifier: BSD-3-Clause
// The server of the save service, called by a client that does not keep to the protocol.
#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "file/journal.hpp"
#include "session/protocol.hpp"
#include "session/remote_error.hpp"
#include "session/seal.hpp"
#include "support/content.hpp"
#include "support/os_limits.hpp"
#include "wiretap.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/ping.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>

namespace cinnabar::files {
namespace {

using support::Folder;
using support::pattern;

struct ServerTest : testing::Test {
    Folder folder;
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

    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    void begin() {
        std::optional<Key> wanted;
        if (keyed) wanted.emplace(key());
        server = Server::make(Root::serve(folder.path().string()).value(), std::move(wanted), options, hooks).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
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

TEST_F(ServerTest, MoreBlocksThanAWindowHasAreRefused) {
    begin();
    WindowIn in;
    in.file = open("a", options.window_bytes);
    in.blocks.resize(blocks_in(options.window_bytes) + 1);
    seals.stamp(in);
    const auto sent = here->call(window_rpc, to, in).wait();
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(from_remote(sent.error()).code, Errc::too_large);
    EXPECT_TRUE(send(in.file, 0, options.window_bytes).ok()) << "the file goes on";
}

// A client that is asked to fill the server's buffers.
struct PushTest : ServerTest {
    using Fill = std::function<hl::Task<Result<void>>(hl::Request<FillIn> request)>;
    void fills(Fill fill) { ASSERT_TRUE(here->serve(fill_rpc, std::move(fill)).ok()); }
    [[nodiscard]] Result<void> push(std::uint64_t file, std::uint64_t offset) {
        PushIn in;
        in.file = file;
        in.offset = offset;
        seals.stamp(in);
        auto pushed = here->call(push_rpc, to, in).wait();
        if (!pushed) return from_remote(std::move(pushed).error());
        return pushed;
    }
};

// A server whose only disk thread is kept by a commit, so that windows stay where they wait for it.
struct BusyDiskTest : ServerTest {
    static constexpr std::size_t window = 4096;
    std::atomic<bool> busy = false;
    std::atomic<bool> over = false;
    std::vector<Errc> outcomes;
    std::vector<std::byte> content = std::vector<std::byte>(window);

    void SetUp() override {
        options.window_bytes = window;
        options.buffers = 2;
        options.disk_threads = 1;
        hooks.before_naming = [this](const StagedFile&) -> Result<void> {
            busy = true;
            over.wait(false);
            return {};
        };
    }
    void TearDown() override {
        release();
        ServerTest::TearDown();
    }
    void release() {
        over = true;
        over.notify_all();
    }
    template <typename Out, typename In>
    hl::Task<void> make(hl::Rpc<Out(In)> rpc, In in) {
        const auto ended = co_await here->call(rpc, to, in);
        outcomes.push_back(ended ? Errc::ok : from_remote(ended.error()).code);
    }
    template <typename Out, typename In>
    void call(hl::Rpc<Out(In)> rpc, In in) {
        seals.stamp(in);
        ASSERT_EQ(here->spawn(make(rpc, std::move(in))), Errc::ok);
    }
    [[nodiscard]] std::ptrdiff_t refused() const { return std::ranges::count(outcomes, Errc::invalid_argument); }
    void occupy() {
        CommitIn commit;
        commit.file = open("empty", 0);
        commit.checksum = Checksum().digest();
        call(commit_rpc, commit);
        ASSERT_TRUE(wait_until([this] { return busy.load(); }));
    }
    // Of the window at `offset`, for either direction.
    template <typename Out, typename In>
    void move_window(hl::Rpc<Out(In)> rpc, std::uint64_t file, std::uint64_t offset) {
        In in;
        in.file = file;
        in.offset = offset;
        constexpr auto both = na::Access::read_write;
        in.window = hl::Bulk(bulk::Region::expose(Bytes(content), both).value(), both);
        call(rpc, std::move(in));
    }
};

TEST_F(BusyDiskTest, AWindowThatIsSentTwiceEndsItsFile) {
    begin();
    const auto file = open("a", 2 * window);
    occupy();
    move_window(window_rpc, file, 0);
    for (int i = 0; i < 3; ++i) move_window(window_rpc, file, window);  // no buffer is left for the first of them
    EXPECT_TRUE(wait_until([this] { return refused() >= 3; })) << "while the disk is busy";
    release();
    EXPECT_TRUE(wait_until([this] { return outcomes.size() >= 5; })) << "the first window, and the commit";
    EXPECT_NE(open("a", 10), file) << "its name is free again";
}

TEST_F(BusyDiskTest, AWindowThatIsReadTwiceEndsItsFile) {
    (void)folder.put("a", pattern(window));
    begin();
    AskIn ask;
    ask.name = "a";
    seals.stamp(ask);
    const auto file = here->call(ask_rpc, to, ask).wait().value().file;
    occupy();
    for (int i = 0; i < 4; ++i) move_window(read_rpc, file, 0);
    EXPECT_TRUE(wait_until([this] { return refused() >= 3; })) << "while the disk is busy";
    release();
    EXPECT_TRUE(wait_until([this] { return outcomes.size() >= 5; })) << "the one that was at work, and the commit";
}

// It looks at the file once more, on a disk thread as all such work.
TEST_F(BusyDiskTest, AFinishWaitsForTheDiskAndTheLoopDoesNot) {
    (void)folder.put("a", pattern(window));
    begin();
    AskIn ask;
    ask.name = "a";
    seals.stamp(ask);
    FinishIn finish;
    finish.file = here->call(ask_rpc, to, ask).wait().value().file;
    move_window(read_rpc, finish.file, 0);
    ASSERT_TRUE(wait_until([this] { return outcomes.size() == 1; }));
    occupy();
    call(finish_rpc, finish);
    (void)here->run_for(Microseconds{1000});
    EXPECT_TRUE(here->call(ping_rpc, to, std::uint64_t{1}).wait().ok());
    EXPECT_EQ(outcomes, std::vector<Errc>{Errc::ok}) << "the window; the finish waits";
    release();
    ASSERT_TRUE(wait_until([this] { return outcomes.size() == 3; })) << "the commit and the finish";
    EXPECT_EQ(outcomes, std::vector<Errc>(3, Errc::ok));
}

TEST_F(PushTest, WhatIsNotifiedIsWrittenAndAnotherWindowRefused) {
    begin();
    const std::string content = pattern(1000);
    fills([&content](hl::Request<FillIn> request) -> hl::Task<Result<void>> {
        hl::TransferOptions how;
        how.notify = request->notice;
        auto moved = co_await request->buffer.push(as_bytes(content), how);
        if (!moved) co_return std::move(moved).error();
        co_return Result<void>();
    });
    OpenIn in;
    in.name = "name";
    in.bytes = content.size();
    in.attributes.mode = 0600;
    in.checked = false;
    seals.stamp(in);
    CommitIn commit;
    commit.file = here->call(open_rpc, to, in).wait().value().file;
    seals.stamp(commit);
    EXPECT_TRUE(push(commit.file, 0).ok());
    EXPECT_TRUE(here->call(commit_rpc, to, commit).wait().ok());
    EXPECT_EQ(folder.get("name"), content);
    EXPECT_EQ(push(open("other", 1000), 500).code(), Errc::invalid_argument) << "no such window";
}

TEST_F(PushTest, AnAnswerWithoutItsNotificationEndsTheFile) {
    begin();
    fills([](hl::Request<FillIn>) -> hl::Task<Result<void>> { co_return Result<void>(); });
    const auto file = open("name", 1000);
    EXPECT_EQ(push(file, 0).code(), Errc::protocol);
    EXPECT_NE(open("name", 10), file) << "its name is free again";
}

// It may have as many files as there are buffers, many times over.
TEST_F(PushTest, AClientThatFillsNothingLeavesBuffersForOthers) {
    constexpr int files = 160;
    options.window_bytes = 4096;
    options.buffers = 8;
    begin();
    unsigned asked = 0;
    fills([&asked](hl::Request<FillIn> request) -> hl::Task<Result<void>> {
        ++asked;
        co_return co_await request.node().sleep_for(std::chrono::hours(1));
    });
    const auto send_push = [](ServerTest& test, std::uint64_t file) -> hl::Task<void> {
        PushIn in;
        in.file = file;
        test.seals.stamp(in);
        hl::CallOptions call;
        call.deadline = hl::no_deadline;
        (void)co_await test.here->call(push_rpc, test.to, in, call);
    };
    for (int i = 0; i < files; ++i)
        ASSERT_EQ(here->spawn(send_push(*this, open("a" + std::to_string(i), 100))), Errc::ok);
    ASSERT_TRUE(wait_until([&] { return asked >= options.buffers - 1; }));
    const auto other = hl::Node::open("tcp://", {.progress_thread = false}).value();
    Client honest(other, other.lookup(there->endpoints().front()).value(), nullptr);
    const auto saving = [](Client& client, std::string path) -> hl::Task<Result<Moved>> {
        const std::string name = "honest";
        Result<Moved> moved = Errc::closed;
        if (auto opened = co_await client.open(); opened) moved = co_await client.save(path, name);
        co_await client.close();
        co_return moved;
    };
    const auto moved = hl::sync_wait(saving(honest, folder.put("mine", pattern(10'000))));
    EXPECT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_EQ(folder.get("honest"), pattern(10'000));
    EXPECT_TRUE(here->call(ping_rpc, to, std::uint64_t{1}).wait().ok());
    EXPECT_LT(asked, options.buffers) << "it did not wait until the others' time was over";
}

TEST_F(PushTest, AClientThatCannotBeAskedSaysWhy) {
    begin();
    EXPECT_EQ(push(open("name", 1000), 0).code(), Errc::no_such_rpc);
}

TEST_F(ServerTest, AFailedUploadLetsItsNameGoAndSaysWhy) {
    begin();
    const auto first = open("name", 1000);
    EXPECT_EQ(send(first, 500, 500).code(), Errc::invalid_argument) << "no such window";
    const auto second = open("name", 10);
    EXPECT_TRUE(send(second, 0, 10).ok());
    EXPECT_EQ(send(first, 0, 1000).code(), Errc::invalid_argument) << "the first one's reason, as before";
    CommitIn commit;
    commit.file = first;
    seals.stamp(commit);
    EXPECT_EQ(from_remote(here->call(commit_rpc, to, commit).wait().error()).code, Errc::invalid_argument);
}

TEST_F(ServerTest, WhatOneClientHasUnderWayIsBounded) {
    options.session_files_max = 3;
    options.session_bytes_max = 1000;
    begin();
    const auto refused = [this](const std::string& name, std::uint64_t bytes) {
        OpenIn in;
        in.name = name;
        in.bytes = bytes;
        in.attributes.mode = 0600;
        seals.stamp(in);
        const auto opened = here->call(open_rpc, to, in).wait();
        return opened ? Errc::ok : from_remote(opened.error()).code;
    };
    EXPECT_EQ(refused("a", 1001), Errc::too_large);
    const auto first = open("a", 600);
    EXPECT_EQ(refused("b", 401), Errc::overloaded);
    EXPECT_NE(open("b", 400), first);
    EXPECT_NE(open("c", 0), first);
    EXPECT_EQ(refused("d", 0), Errc::overloaded);
    AbortIn abort;
    abort.file = first;
    seals.stamp(abort);
    ASSERT_TRUE(here->call(abort_rpc, to, abort).wait().ok());
    EXPECT_EQ(refused("d", 600), Errc::ok);
}

// Nothing else is done with it: a name may have as many bytes as an argument.
TEST_F(ServerTest, ANameThatIsTooLongIsRefusedBeforeAnybodyReadsIt) {
    keyed = true;
    std::size_t longest = 0;
    hooks.ended = [&longest](const ServerEvent& event) { longest = std::max(longest, event.name.size()); };
    begin();
    for (const bool sealed : {false, true}) {
        OpenIn in;
        in.name.assign(1u << 20, 'a');
        in.seal.token = seals.token();
        if (sealed) seals.stamp(in);
        EXPECT_EQ(from_remote(here->call(open_rpc, to, in).wait().error()).code, Errc::too_large);
        AskIn ask;
        ask.name = in.name;
        ask.seal.token = seals.token();
        if (sealed) seals.stamp(ask);
        EXPECT_EQ(from_remote(here->call(ask_rpc, to, ask).wait().error()).code, Errc::too_large);
    }
    EXPECT_LE(longest, name_bytes_max) << "told to whoever runs the server";
}

TEST_F(ServerTest, ATargetOrAttributesThatAreTooLongAreRefusedBeforeAnybodyReadsThem) {
    keyed = true;
    begin();
    const auto code = [&](const auto& rpc, auto in, bool sealed) {
        in.name = "name";
        in.seal.token = seals.token();
        if (sealed) seals.stamp(in);
        return from_remote(here->call(rpc, to, in).wait().error()).code;
    };
    for (const bool sealed : {false, true}) {
        MakeIn link;
        link.kind = MakeKind::link;
        link.target.assign(name_bytes_max + 1, 'a');
        EXPECT_EQ(code(make_rpc, link, sealed), Errc::too_large);
        const std::vector<ExtendedAttribute> one_large{{"user.x", std::string(extended_bytes_max, 'a')}};
        const std::vector<ExtendedAttribute> many_empty(extended_bytes_max + 1);
        for (const auto& extended : {one_large, many_empty}) {
            OpenIn open;
            open.attributes.extended = extended;
            EXPECT_EQ(code(open_rpc, open, sealed), Errc::too_large);
            MakeIn finish;
            finish.kind = MakeKind::finish_folder;
            finish.attributes.extended = extended;
            EXPECT_EQ(code(make_rpc, finish, sealed), Errc::too_large);
        }
    }
}

// A client whose packs are not what they should be.
struct HandmadePackTest : ServerTest {
    std::vector<std::byte> content = std::vector<std::byte>(1 << 20);
    PackIn pack_of(std::vector<std::string> names, std::uint64_t bytes_each) const {
        PackIn in;
        for (auto& name : names) in.files.push_back({std::move(name), bytes_each, 0, {}});
        in.checked = false;
        const auto bytes = std::min(bytes_each * in.files.size(), content.size());
        if (bytes > 0) {
            const auto region = bulk::Region::expose(ConstBytes(content).first(bytes)).value();
            in.window = hl::Bulk(region, na::Access::read);
        }
        return in;
    }
    Result<PackOut> send(PackIn in) {
        seals.stamp(in);
        auto out = here->call(pack_rpc, to, in).wait();
        if (!out) return from_remote(std::move(out).error());
        return out;
    }
};

TEST_F(HandmadePackTest, PacksThatCannotBeAreRefusedWhole) {
    begin();
    EXPECT_EQ(send(pack_of({}, 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max + 1, "a"), 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of({"a"}, packed_file_bytes_max + 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of({"a", std::string(pack_text_bytes_max, 'a')}, 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(9, "a"), 128 << 10)).code(), Errc::invalid_argument)
        << "a window that is shorter than the files";
    auto strange = pack_of({"a"}, 1);
    strange.sync = static_cast<Sync>(7);
    EXPECT_EQ(send(strange).code(), Errc::invalid_argument);
    EXPECT_EQ(Folder::list_of(folder.path()), (std::vector<std::string>{".cinnabar-staging"}));
    auto extended = pack_of({"a"}, 1);
    extended.files[0].attributes.extended = {{"user.x", std::string(pack_text_bytes_max, 'a')}};
    EXPECT_EQ(send(extended).code(), Errc::too_large);
}

TEST_F(HandmadePackTest, APackThatIsLargerThanABufferIsRefused) {
    options.window_bytes = 4096;
    begin();
    EXPECT_EQ(send(pack_of({"a", "b"}, 4096)).code(), Errc::too_large);
}

TEST_F(HandmadePackTest, OneNameTwiceAndAFalseChecksumAreErrorsOfTheirFiles) {
    begin();
    const auto twice = send(pack_of({"a", "a", "b"}, 3)).value();
    EXPECT_EQ(twice.outcomes[0].code, Errc::ok);
    EXPECT_EQ(twice.outcomes[1].code, Errc::busy);
    EXPECT_EQ(twice.outcomes[2].code, Errc::ok);
    auto checked = pack_of({"c", "d"}, 3);
    checked.checked = true;
    checked.files[1].checksum = block_checksum(ConstBytes(content).first(3));
    const auto out = send(checked).value();
    EXPECT_EQ(out.outcomes[0].code, Errc::bad_checksum);
    EXPECT_EQ(out.outcomes[1].code, Errc::ok);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "c"));
}

TEST_F(HandmadePackTest, FilesOfAPackCountAsThoseOfTheClient) {
    options.session_files_max = 2;
    begin();
    EXPECT_EQ(send(pack_of({"a", "b", "c"}, 1)).code(), Errc::overloaded);
    EXPECT_TRUE(send(pack_of({"a", "b"}, 1)).ok());
    EXPECT_TRUE(send(pack_of({"c", "d"}, 0)).ok()) << "and not for longer than the call";
}

// The kernel sends the signal to the thread that asked for too large a file.
std::atomic<pid_t> asked_for_too_much{0};

TEST_F(ServerTest, AFileGetsItsSizeOnADiskThread) {
    std::atomic<pid_t> loop{0};
    hooks.may_access = [&loop](const AccessRequest&) -> Result<void> {
        loop = ::gettid();
        return {};
    };
    begin();
    const support::FileSizeLimit limit(1u << 20);
    (void)::signal(SIGXFSZ, [](int) { asked_for_too_much = ::gettid(); });
    OpenIn in;
    in.name = "sparse";
    in.bytes = 1u << 30;
    in.attributes.mode = 0600;
    in.sparse = true;
    seals.stamp(in);
    EXPECT_EQ(from_remote(here->call(open_rpc, to, in).wait().error()).code, Errc::no_space);
    ASSERT_NE(asked_for_too_much, 0);
    EXPECT_NE(asked_for_too_much, loop);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path() / ".cinnabar-staging"));
}

TEST_F(ServerTest, WithoutItsFolderForUnfinishedFilesItSaysSo) {
    begin();
    std::filesystem::remove_all(folder.path() / ".cinnabar-staging");
    OpenIn in;
    in.name = "name";
    in.attributes.mode = 0600;
    seals.stamp(in);
    EXPECT_EQ(from_remote(here->call(open_rpc, to, in).wait().error()).code, Errc::io);
}

TEST_F(ServerTest, AWindowWhoseForerunnerNeverComesTimesOut) {
    options.gap_seconds_max = 1;
    begin();
    const std::uint64_t file = open("a", 2 * options.window_bytes);
    const auto second = send(file, options.window_bytes, options.window_bytes);
    EXPECT_EQ(second.code(), Errc::timed_out) << second.error().message();
    EXPECT_EQ(send(file, 0, options.window_bytes).code(), Errc::timed_out) << "the file has ended";
}

// Whoever reads the wire has the token and whole calls, but cannot make one, nor send one again.
TEST_F(ServerTest, ACallThatWasSeenOnTheWireIsWorthless) {
    keyed = true;
    begin();
    OpenIn seen;
    seen.name = "name";
    seen.attributes.mode = 0600;
    seals.stamp(seen);
    const auto file = here->call(open_rpc, to, seen).wait().value().file;
    const auto again = here->call(open_rpc, to, seen).wait();
    EXPECT_EQ(from_remote(again.error()).code, Errc::permission) << again.error().message();
    AbortIn forged;
    forged.seal.token = seals.token();
    forged.seal.number = 1000;
    forged.file = file;
    EXPECT_EQ(from_remote(here->call(abort_rpc, to, forged).wait().error()).code, Errc::permission);
    AbortIn abort;
    abort.file = file;
    seals.stamp(abort);
    EXPECT_TRUE(here->call(abort_rpc, to, abort).wait().ok()) << "the client's own";
    EXPECT_EQ(from_remote(here->call(abort_rpc, to, abort).wait().error()).code, Errc::permission);
}

// So that a lost client's files go with its connection, at once: it is the end of the hold call that tells.
TEST_F(ServerTest, NoFileBeginsInASessionThatNobodyHolds) {
    holds = false;
    begin();
    OpenIn in;
    in.name = "name";
    in.attributes.mode = 0600;
    seals.stamp(in);
    EXPECT_EQ(from_remote(here->call(open_rpc, to, in).wait().error()).code, Errc::timed_out);
    AskIn ask;
    ask.name = "name";
    seals.stamp(ask);
    EXPECT_EQ(from_remote(here->call(ask_rpc, to, ask).wait().error()).code, Errc::timed_out);
    ASSERT_EQ(here->spawn(hold()), Errc::ok);
    EXPECT_NE(open("name", 0), 0u);
}

// Whoever heard all of a connection says the same on a connection of its own: identity, login, calls. Also without a
// key, where nothing is signed, that gives no part in the session.
TEST_F(ServerTest, WhatWasHeardIsWorthlessOnAnotherConnection) {
    constexpr hl::Rpc<std::uint64_t(std::uint64_t)> mark{"mark"};
    std::atomic<int> marks = 0;
    for (const bool with_key : {false, true}) {
        here.reset();
        there.reset();
        server.reset();
        keyed = with_key;
        tapped = true;
        begin();
        ASSERT_TRUE(there->serve(mark, [&marks](std::uint64_t number) { return ++marks, number; }).ok());
        AbortIn abort;
        abort.file = open("name", 0);
        seals.stamp(abort);
        ASSERT_TRUE(here->call(abort_rpc, to, abort).wait().ok());
        marks = 0;
        ASSERT_TRUE(here->call(mark, to, std::uint64_t{1}).wait().ok());
        tap->replay();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (marks < 2 && std::chrono::steady_clock::now() < end) (void)here->run_for(Microseconds{1000});
        ASSERT_EQ(marks, 2) << "all that was heard has been said again";
        EXPECT_NE(open("name", 0), 0u) << "nobody else has the name";
    }
}

TEST_F(ServerTest, AHoleIsOnlyOfASparseFileAndOnlyWhereAWindowIs) {
    begin();
    const auto hole = [&](std::uint64_t file, std::uint64_t offset) {
        WindowIn in;
        in.file = file;
        in.offset = offset;
        in.hole = true;
        seals.stamp(in);
        auto told = here->call(window_rpc, to, in).wait();
        return told ? Errc::ok : from_remote(std::move(told).error()).code;
    };
    const auto open_sparse = [&](const std::string& name, std::uint64_t bytes) {
        OpenIn in;
        in.name = name;
        in.bytes = bytes;
        in.attributes.mode = 0600;
        in.sparse = true;
        in.checked = false;
        seals.stamp(in);
        return here->call(open_rpc, to, in).wait().value().file;
    };
    const std::uint64_t window_bytes = options.window_bytes;
    EXPECT_EQ(hole(open("dense", window_bytes), 0), Errc::invalid_argument);
    EXPECT_EQ(hole(open_sparse("beyond", window_bytes), window_bytes), Errc::invalid_argument);
    const auto file = open_sparse("sparse", 3 * window_bytes);
    EXPECT_EQ(hole(file, 0), Errc::ok);
    EXPECT_TRUE(send(file, window_bytes, window_bytes).ok());
    EXPECT_EQ(hole(file, 2 * window_bytes), Errc::ok);
    CommitIn commit;
    commit.file = file;
    seals.stamp(commit);
    EXPECT_TRUE(here->call(commit_rpc, to, commit).wait().ok());
    EXPECT_EQ(folder.get("sparse"), std::string(3 * window_bytes, '\0'));
}

}  // namespace
}  // namespace cinnabar::files
