// SPDX-License-Identifier: BSD-3-Clause
// A client that tells its checksums window by window, and comes again: what the server takes for proven.
#include "file/dated.hpp"
#include "file/staging.hpp"
#include "file/xxh3.hpp"
#include "server_fixture.hpp"
#include "support/test_key.hpp"

#include <cinnabar/files/name.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>

namespace cinnabar::files {
namespace {

// The file has eight windows of zeros.
struct ProvenServerTest : ServerTest {
    static constexpr std::uint64_t step = 16u << 10;
    static constexpr std::uint64_t whole_bytes = 8 * step;
    SourceMark mark{1};
    std::atomic<int> failures = 0;  // that the server has reported

    ProvenServerTest() : ServerTest(support::memory_folder()) {}
    void SetUp() override {
        options.window_bytes = step;
        options.journal_interval = std::chrono::milliseconds(0);
        hooks.ended = [this](const ServerEvent& event) {
            if (event.kind == ServerEvent::Kind::failed) ++failures;
        };
        const UniqueFd file(::open(folder.put("probe", "x").c_str(), O_RDONLY | O_CLOEXEC));
        struct stat status {};
        ASSERT_EQ(::fstat(file.get(), &status), 0);
        ASSERT_TRUE(dates_changes(file.get(), stamp_of(status))) << "these tests need tmpfs at /dev/shm";
        begin_server();
    }
    virtual void begin_server() { begin(); }
    static std::uint64_t sum_of_zeros(std::uint64_t windows) {
        return xxh3(ConstBytes(std::vector<std::byte>(windows * step)));
    }
    OpenOut open_marked(const SourceMark& source, bool rereads = false) {
        OpenIn in;
        in.name = "a";
        in.bytes = whole_bytes;
        in.attributes.mode = 0600;
        in.source = source;
        in.rereads = rereads;
        seals.stamp(in);
        return here->call(open_rpc, to, in).wait().value();
    }
    Result<void> send_window(std::uint64_t file, std::uint64_t number, std::optional<std::uint64_t> so_far) {
        const std::vector<std::byte> content(step);
        WindowIn in;
        in.file = file;
        in.offset = number * step;
        in.so_far = so_far;
        in.window = hl::Bulk(bulk::Region::expose(ConstBytes(content)).value(), na::Access::read);
        seals.stamp(in);
        const auto sent = here->call(window_rpc, to, in).wait();
        if (!sent) return from_remote(sent.error());
        return {};
    }
    void leave(std::uint64_t file) {
        AbortIn abort;
        abort.file = file;
        abort.keep = true;
        seals.stamp(abort);
        EXPECT_TRUE(here->call(abort_rpc, to, abort).wait().ok());
    }
    // Sends the first four windows, of which that number is sent without a checksum, and leaves them.
    void leave_four(std::optional<std::uint64_t> untold = std::nullopt) {
        const auto file = open_marked(mark).file;
        for (std::uint64_t i = 0; i < 4; ++i) {
            const auto told = untold == i ? std::nullopt : std::optional(sum_of_zeros(i + 1));
            EXPECT_TRUE(send_window(file, i, told).ok()) << i;
        }
        leave(file);
    }
    Result<CommitOut> commit(std::uint64_t file, std::uint64_t checksum) {
        CommitIn in;
        in.file = file;
        in.checksum = checksum;
        seals.stamp(in);
        auto committed = here->call(commit_rpc, to, in).wait();
        if (!committed) return from_remote(committed.error());
        return committed;
    }
    void expect_forgotten_by(const SourceMark& other) {
        leave_four();
        const auto opened = open_marked(other);
        EXPECT_EQ(opened.resumed_bytes, 4 * step);
        EXPECT_EQ(opened.proven_bytes, 0u);
        leave(opened.file);
        EXPECT_EQ(open_marked(mark).proven_bytes, 0u);
    }
    [[nodiscard]] std::filesystem::path staged_part() const {
        return folder.path() / std::string(staging_folder) / staged_names_of("a").part;
    }
};

TEST_F(ProvenServerTest, WhatWasComparedCountsAsReceived) {
    leave_four();
    const auto opened = open_marked(mark);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    ASSERT_EQ(opened.proven_bytes, 4 * step);
    for (std::uint64_t i = 4; i < 8; ++i) EXPECT_TRUE(send_window(opened.file, i, sum_of_zeros(i - 3)).ok()) << i;
    const auto committed = commit(opened.file, sum_of_zeros(4));
    ASSERT_TRUE(committed.ok()) << committed.error().message();
    EXPECT_EQ(committed->checksum, sum_of_zeros(8)) << "that of the whole file";
    EXPECT_EQ(folder.get("a"), std::string(whole_bytes, '\0'));
}

TEST_F(ProvenServerTest, TheChecksumIsThatOfTheRest) {
    leave_four();
    const auto opened = open_marked(mark);
    ASSERT_EQ(opened.proven_bytes, 4 * step);
    for (std::uint64_t i = 4; i < 8; ++i) EXPECT_TRUE(send_window(opened.file, i, std::nullopt).ok()) << i;
    EXPECT_EQ(commit(opened.file, sum_of_zeros(8)).code(), Errc::bad_checksum);
    EXPECT_FALSE(std::filesystem::exists(folder.at("a")));
}

TEST_F(ProvenServerTest, AWindowOfWhatIsProvenIsNotTakenAgain) {
    leave_four();
    const auto opened = open_marked(mark);
    ASSERT_EQ(opened.proven_bytes, 4 * step);
    EXPECT_EQ(send_window(opened.file, 3, std::nullopt).code(), Errc::invalid_argument);
}

TEST_F(ProvenServerTest, WhoSendsNothingMoreLeavesAsMuchAsThereWas) {
    leave_four();
    for (int i = 0; i < 3; ++i) {
        const auto opened = open_marked(mark);
        EXPECT_EQ(opened.proven_bytes, 4 * step) << i;
        leave(opened.file);
    }
}

TEST_F(ProvenServerTest, ForAnotherSourceNothingIsProven) { expect_forgotten_by(SourceMark{2}); }

TEST_F(ProvenServerTest, ForASourceWithoutAMarkNothingIsProven) { expect_forgotten_by(SourceMark{}); }

TEST_F(ProvenServerTest, WhoWantsAllReadIsGivenNothingProven) {
    leave_four();
    const auto opened = open_marked(mark, true);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    EXPECT_EQ(opened.proven_bytes, 0u);
}

TEST_F(ProvenServerTest, AWindowWithoutAChecksumProvesNothing) {
    leave_four(2);
    const auto opened = open_marked(mark);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    EXPECT_EQ(opened.proven_bytes, 0u);
}

TEST_F(ProvenServerTest, AStagedFileThatWasTouchedProvesNothing) {
    leave_four();
    {
        const UniqueFd file(::open(staged_part().c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::flock(file.get(), LOCK_EX), 0);  // the server has left it
        ASSERT_EQ(::pwrite(file.get(), "\0", 1, 0), 1);
    }
    const auto opened = open_marked(mark);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    EXPECT_EQ(opened.proven_bytes, 0u) << "also if its content is the same";
}

TEST_F(ProvenServerTest, ClaimsProve) {
    leave_four(0);
    ClaimIn claim;
    claim.file = open_marked(mark).file;
    claim.checksums.assign(3, sum_of_zeros(1));
    seals.stamp(claim);
    EXPECT_EQ(here->call(claim_rpc, to, claim).wait().value().windows, 3u);
    leave(claim.file);
    const auto opened = open_marked(mark);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    EXPECT_EQ(opened.proven_bytes, 3 * step) << "as much as was compared; the rest is claimed";
}

// Two clients on one host, each with a key of its own. Who knows a file's mark, or reads it on the network, could have
// left something else under its name.
#ifdef CINNABAR_PLUGIN_tcps
struct ProvenByTwoTest : ProvenServerTest {
    support::Folder keys;

    static std::string line_of(const std::string& name) { return name + ":" + std::string(64, name.front()); }
    void begin_server() override {
        scheme = "tcps";
        there_options.transport.tls.key_file = support::put_key(keys, "all", line_of("ann") + "\n" + line_of("bob"));
        here_options.transport.tls.key_file = support::put_key(keys, "bob", line_of("bob"));
        begin();
    }
    void come_as(const std::string& name) {
        here_options.transport.tls.key_file = support::put_key(keys, "next", line_of(name));
        here.reset();
        log_in();
    }
};

TEST_F(ProvenByTwoTest, WhatOneClientHasLeftIsProvenToNoOther) {
    leave_four();
    come_as("ann");
    const auto opened = open_marked(mark);
    EXPECT_EQ(opened.resumed_bytes, 4 * step);
    EXPECT_EQ(opened.proven_bytes, 0u);
}

TEST_F(ProvenByTwoTest, ToTheSameClientItIsByAnotherConnection) {
    leave_four();
    come_as("bob");
    EXPECT_EQ(open_marked(mark).proven_bytes, 4 * step);
}
#endif

// Claims of which one is being compared when the client gives the file up: that one counts, or it does not, and what is
// remembered of the checksum is of the same windows.
struct ProvenBusyTest : ProvenServerTest {
    std::atomic<bool> busy = false;
    std::atomic<bool> over = false;
    std::atomic<int> ended = 0;

    void SetUp() override {
        options.disk_threads = 1;
        hooks.before_naming = [this](const StagedFile& staged) -> Result<void> {
            if (staged.name != "empty") return {};
            busy = true;
            over.wait(false);
            return {};
        };
        ProvenServerTest::SetUp();
    }
    void TearDown() override {
        release();
        ProvenServerTest::TearDown();
    }
    void release() {
        over = true;
        over.notify_all();
    }
    template <typename Out, typename In>
    hl::Task<void> make(hl::Rpc<Out(In)> rpc, In in) {
        (void)co_await here->call(rpc, to, in);
        ++ended;
    }
    template <typename Out, typename In>
    void call(hl::Rpc<Out(In)> rpc, In in) {
        seals.stamp(in);
        ASSERT_EQ(here->spawn(make(rpc, std::move(in))), Errc::ok);
    }
    // Occupies the only disk thread with the commit of another file.
    void occupy() {
        CommitIn other;
        other.file = open("empty", 0);
        other.checksum = xxh3(ConstBytes());
        call(commit_rpc, other);
        ASSERT_TRUE(wait_until([this] { return busy.load(); }));
    }
};

TEST_F(ProvenBusyTest, AClaimThatIsInterruptedLeavesTheSumOfWhatIsProven) {
    leave_four();
    ClaimIn claim;
    claim.file = open_marked(mark, true).file;
    claim.checksums.assign(2, sum_of_zeros(1));
    seals.stamp(claim);
    ASSERT_EQ(here->call(claim_rpc, to, claim).wait().value().windows, 2u);
    occupy();
    claim.offset = 2 * step;
    call(claim_rpc, claim);
    (void)here->run_for(Microseconds{50'000});  // it waits for the disk by then
    leave(claim.file);
    release();
    ASSERT_TRUE(wait_until([this] { return ended == 2; })) << "the commit of the other file, and the claim";
    const auto opened = open_marked(mark);
    EXPECT_GE(opened.proven_bytes, 2 * step);
    for (std::uint64_t i = opened.proven_bytes / step; i < 8; ++i)
        EXPECT_TRUE(send_window(opened.file, i, std::nullopt).ok()) << i;
    const auto committed = commit(opened.file, sum_of_zeros(8 - opened.proven_bytes / step));
    ASSERT_TRUE(committed.ok()) << committed.error().message();
    EXPECT_EQ(committed->checksum, sum_of_zeros(8));
}

TEST_F(ProvenServerTest, AWrongChecksumEndsTheFileBeforeTheWindowIsWritten) {
    const auto file = open_marked(mark).file;
    EXPECT_TRUE(send_window(file, 0, sum_of_zeros(1)).ok());
    EXPECT_EQ(send_window(file, 1, sum_of_zeros(1)).code(), Errc::bad_checksum);
    EXPECT_EQ(failures, 1);
    EXPECT_EQ(open_marked(mark).resumed_bytes, 0u) << "nothing is left of it";
}

}  // namespace
}  // namespace cinnabar::files
