// SPDX-License-Identifier: BSD-3-Clause
// The server of the save service, with a client that breaks the protocol.
#include "file/blocks.hpp"
#include "file/journal.hpp"
#include "server_fixture.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/files/name.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>

namespace cinnabar::files {
namespace {

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

// Nothing else may be done with such a name, which may have as many bytes as an argument.
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
        ListIn list;
        list.links = LinkLimit::of(in.name);
        list.seal.token = seals.token();
        if (sealed) seals.stamp(list);
        EXPECT_EQ(from_remote(here->call(list_rpc, to, list).wait().error()).code, Errc::too_large);
        RemoveIn remove;
        remove.name = "name";
        remove.links = list.links;
        remove.seal.token = seals.token();
        if (sealed) seals.stamp(remove);
        EXPECT_EQ(from_remote(here->call(remove_rpc, to, remove).wait().error()).code, Errc::too_large);
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

// The kernel sends SIGXFSZ to the thread that made the file too large.
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

// An eavesdropper knows the token and complete calls, but can neither make a call nor repeat one.
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

// The end of the hold call tells the server that a client is lost, so that its files end with the connection.
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

// An eavesdropper repeats everything that a connection has sent on a connection of its own: identity, login, calls.
// Even without a key, when nothing is signed, that gives no access to the session.
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
        // A server ends a connection on which something is acknowledged that it has not sent.
        const auto is_over = [&] { return marks == 2 || tap->replay_has_ended(); };
        while (!is_over() && std::chrono::steady_clock::now() < end) (void)here->run_for(Microseconds{1000});
        ASSERT_TRUE(is_over()) << "all that was heard has been said again";
        EXPECT_NE(open("name", 0), 0u) << "nobody else has the name";
    }
}

// Summing a file takes no turns, so a call that names it would read beside the sum.
TEST_F(ServerTest, NoCallNamesAFileThatIsBeingSummed) {
    options.sum_step = std::chrono::seconds(60);
    begin();
    (void)folder.put("large", "");
    std::filesystem::resize_file(folder.at("large"), 4ull << 30);
    SumIn in;
    in.name = "large";
    seals.stamp(in);
    auto summing = here->call(sum_rpc, to, in, hl::CallOptions{.deadline = std::chrono::seconds(60)}).future();
    unsigned calls = 0;
    for (; !summing.ready(); ++calls) {
        FinishIn finish;
        finish.file = 1;  // the first number
        seals.stamp(finish);
        const auto finished = here->call(finish_rpc, to, finish).wait();
        ASSERT_FALSE(finished.ok());
        ASSERT_EQ(from_remote(finished.error()).code, Errc::not_found);
    }
    EXPECT_GT(calls, 2u);
    const auto sum = summing.get();
    ASSERT_TRUE(sum.ok()) << sum.error().message();
    EXPECT_EQ(sum->verified.bytes, 4ull << 30);
}

// However large a file is and however slow the disk, no call has to wait for all of it.
TEST_F(ServerTest, AFileIsSummedInSteps) {
    options.window_bytes = 4096;
    options.sum_step = std::chrono::milliseconds(0);
    const auto content = support::pattern(3 * 4096 - 1);
    (void)folder.put("a", content);
    begin();
    const auto step = [this](const std::string& name, std::uint64_t file) {
        SumIn in;
        in.name = name;
        in.file = file;
        seals.stamp(in);
        auto out = here->call(sum_rpc, to, in).wait();
        return out ? Result<SumOut>(*out) : Result<SumOut>(from_remote(std::move(out).error()));
    };
    auto out = step("a", 0);
    for (std::uint64_t windows = 1; windows < 3; ++windows) {
        ASSERT_TRUE(out.ok()) << out.error().message();
        ASSERT_NE(out->file, 0u);
        EXPECT_EQ(out->position, windows * 4096);
        EXPECT_EQ(step({}, out->file + 1).code(), Errc::not_found);
        out = step({}, out->file);
    }
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ(out->file, 0u);
    EXPECT_EQ(out->verified.bytes, content.size());
    EXPECT_EQ(out->verified.checksum, block_checksum(as_bytes(content)));
    EXPECT_EQ(step({}, 1).code(), Errc::not_found) << "it is over";
}

TEST_F(ServerTest, TwoStepsOfOneSumDoNotReadAtOnce) {
    options.sum_step = std::chrono::milliseconds(0);
    begin();
    (void)folder.put("large", "");
    std::filesystem::resize_file(folder.at("large"), 1ull << 30);
    SumIn in;
    in.name = "large";
    seals.stamp(in);
    in.file = here->call(sum_rpc, to, in).wait().value().file;
    std::vector<hl::Future<SumOut>> steps;
    for (int i = 0; i < 4; ++i) {
        seals.stamp(in);
        steps.push_back(here->call(sum_rpc, to, in).future());
    }
    unsigned done = 0;
    for (auto& step : steps) {
        const auto out = step.get();
        if (!out) {
            EXPECT_EQ(from_remote(out.error()).code, Errc::invalid_argument);
        }
        done += out ? 1 : 0;
    }
    EXPECT_GE(done, 1u);
    AbortIn abort;
    abort.file = in.file;
    seals.stamp(abort);
    EXPECT_TRUE(here->call(abort_rpc, to, abort).wait().ok());
    seals.stamp(in);
    EXPECT_EQ(from_remote(here->call(sum_rpc, to, in).wait().error()).code, Errc::not_found);
}

// A window that fails while it waits for the client's rate ends its file: those behind it do not wait for ever, and the
// name is free again.
TEST_F(ServerTest, AWindowThatFailsWhileItWaitsForTheRateEndsItsFile) {
    options.window_bytes = 64u << 10;
    options.client_bytes_per_second = options.window_bytes;
    begin();
    const std::uint64_t file = open("a", 3 * options.window_bytes);
    ASSERT_TRUE(send(file, 0, options.window_bytes).ok());
    const std::vector<std::byte> content(options.window_bytes);
    const auto put_window = [&](std::uint64_t number, Microseconds deadline) {
        WindowIn in;
        in.file = file;
        in.offset = number * options.window_bytes;
        in.window = hl::Bulk(bulk::Region::expose(ConstBytes(content)).value(), na::Access::read);
        seals.stamp(in);
        return here->call(window_rpc, to, in, hl::CallOptions{.deadline = deadline}).future();
    };
    auto second = put_window(1, std::chrono::milliseconds(200));
    auto third = put_window(2, std::chrono::seconds(60));
    EXPECT_TRUE(second.wait_for(std::chrono::seconds(30)));
    EXPECT_FALSE(second.get().ok());
    EXPECT_TRUE(third.wait_for(std::chrono::seconds(30)));
    EXPECT_FALSE(third.get().ok());
    bool opened = false;
    EXPECT_TRUE(wait_until([&] {
        OpenIn in;
        in.name = "a";
        in.attributes.mode = 0600;
        seals.stamp(in);
        opened = opened || here->call(open_rpc, to, in).wait().ok();
        return opened;
    })) << "the name is free";
}

struct ReadTest : ServerTest {
    std::vector<std::byte> content;
    std::uint64_t file = 0;
    void begin_reading(std::uint64_t windows) {
        options.window_bytes = 64u << 10;
        options.client_bytes_per_second = options.window_bytes;
        content.resize(options.window_bytes);
        begin();
        (void)folder.put("a", support::pattern(windows * options.window_bytes));
        AskIn ask;
        ask.name = "a";
        seals.stamp(ask);
        file = here->call(ask_rpc, to, ask).wait().value().file;
    }
};

TEST_F(ReadTest, TheRateCountsOfferedBytesThatHadToBeSent) {
    begin_reading(64);
    Errc code = Errc::ok;
    std::uint64_t windows = 0;
    for (; code == Errc::ok && windows < 64; ++windows) {
        ReadIn in;
        in.file = file;
        in.offset = windows * options.window_bytes;
        in.window = hl::Bulk(bulk::Region::expose(Bytes(content), na::Access::read_write).value(), na::Access::write);
        in.offered = true;
        in.checksum = 1;  // of other bytes
        seals.stamp(in);
        const auto read = here->call(read_rpc, to, in).wait();
        if (!read) {
            const Error why = from_remote(read.error());
            ASSERT_EQ(why.code, Errc::overloaded) << why.message();
            code = why.code;
        }
    }
    EXPECT_EQ(code, Errc::overloaded);
    EXPECT_LT(windows, 50u) << "some 40 s at that rate may be ahead";
}

TEST_F(ReadTest, TheRateCountsLentWindows) {
    begin_reading(2);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 2; ++i) {
        LendIn in;
        in.file = file;
        in.bytes = options.window_bytes;
        seals.stamp(in);
        EXPECT_FALSE(here->call(lend_rpc, to, in, hl::CallOptions{.deadline = std::chrono::seconds(30)}).wait().ok());
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900)) << "nobody takes them here";
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
