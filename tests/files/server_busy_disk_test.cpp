// SPDX-License-Identifier: BSD-3-Clause
// Windows wait for the disk, but the loop does not.
#include "file/checksum.hpp"
#include "server_fixture.hpp"

#include <cinnabar/files/ping.hpp>

#include <algorithm>
#include <atomic>

namespace cinnabar::files {
namespace {

// A server whose only disk thread is busy with a commit, so that windows have to wait.
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
    // Calls for the window at `offset`, in either direction.
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
    for (int i = 0; i < 3; ++i) move_window(window_rpc, file, window);  // already the first one gets no buffer
    EXPECT_TRUE(wait_until([this] { return refused() >= 3; })) << "while the disk is busy";
    release();
    EXPECT_TRUE(wait_until([this] { return outcomes.size() >= 5; })) << "the first window, and the commit";
    EXPECT_NE(open("a", 10), file) << "its name is free again";
}

TEST_F(BusyDiskTest, AWindowThatIsReadTwiceEndsItsFile) {
    (void)folder.put("a", support::pattern(window));
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

// A finish call checks the file again, on a disk thread.
TEST_F(BusyDiskTest, AFinishWaitsForTheDiskAndTheLoopDoesNot) {
    (void)folder.put("a", support::pattern(window));
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

}  // namespace
}  // namespace cinnabar::files
