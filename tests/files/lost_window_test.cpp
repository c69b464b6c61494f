// SPDX-License-Identifier: BSD-3-Clause
// Windows whose further connection fails: at the client, which connection is used from then on; at the server, what
// becomes of their buffers.
#include "session/remote_error.hpp"
#include "session/streams.hpp"
#include "session/upload.hpp"
#include "support/content.hpp"

#include <cinnabar/files/root.hpp>
#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace cinnabar::files {
namespace {

struct StreamsInUse : testing::Test {
    Streams streams{na::Addr()};
    StreamsInUse() { (void)streams.add(na::Addr()); }
    // A window of the second connection fails. Returns how many connections are usable then.
    std::uint32_t fail(const Error& why) {
        const Streams::Use first = streams.use();
        const Streams::Use second = streams.use();
        EXPECT_FALSE(second.is_first());
        second.failed(why);
        return streams.usable();
    }
};

TEST_F(StreamsInUse, ALostConnectionMovesNoMore) { EXPECT_EQ(fail(Errc::peer_lost), 1u); }

TEST_F(StreamsInUse, NorDoesOneWhoseServerSaysSo) {
    EXPECT_EQ(fail(to_remote(Error{Errc::peer_lost, "no such session"})), 1u);
}

TEST_F(StreamsInUse, NorOneOverWhichTheServerWaitedInVain) { EXPECT_EQ(fail(to_remote(Errc::timed_out)), 1u); }

TEST_F(StreamsInUse, OneWhoseServerIsBusyStays) { EXPECT_EQ(fail(to_remote(Errc::overloaded)), 2u); }

struct LostWindowTest : testing::Test {
    static constexpr std::uint64_t step = 16u << 10;
    support::Folder folder;
    Root root = Root::serve(folder.path().string()).value();
    hl::Node node = hl::Node::open("tcp://", {.progress_thread = false}).value();
    Disk disk{1};
    Buffers buffers = Buffers::make(step, 1).value();
    SessionPart part;
    std::optional<Upload> upload;
    std::optional<Errc> outcome;

    void SetUp() override {
        auto file = root.create("a", 2 * step, 0600, Existing::keep).value();
        upload.emplace(buffers, part, disk, root, std::move(file), 2 * step, true, false);
    }
    [[nodiscard]] hl::Task<bulk::Region> only_buffer() {
        Share share(buffers, part);
        co_return (co_await buffers.take(share)).value().region();
    }
    // The client's connection is lost while it may write to the buffer, in quarantine or not.
    [[nodiscard]] hl::Task<void> lose_push(bool quarantined) {
        const bulk::Region buffer = co_await only_buffer();
        const Upload::Ask ask = [&](const hl::Bulk&, std::uint32_t) -> hl::Task<Result<void>> {
            if (quarantined) buffer.quarantine_for_good();
            co_return Errc::peer_lost;
        };
        const na::Addr client = node.lookup("tcp://127.0.0.1:9").value();
        outcome = (co_await upload->grant({}, node, client, ask, true)).code();
    }
    void lose(bool quarantined) {
        ASSERT_EQ(node.spawn(lose_push(quarantined)), Errc::ok);
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!outcome && std::chrono::steady_clock::now() < until) (void)node.run_for(std::chrono::milliseconds(5));
        ASSERT_EQ(outcome, Errc::peer_lost);
    }
};

TEST_F(LostWindowTest, ItsBufferIsKept) {
    lose(false);
    EXPECT_FALSE(upload->ended());
    EXPECT_TRUE(upload->came_before(0));
    EXPECT_FALSE(upload->came_before(step));
    EXPECT_EQ(upload->count_lost_second(), 1u);
    EXPECT_EQ(upload->count_lost_second(), 2u);
}

TEST_F(LostWindowTest, TheFileEndsIfItsBufferIsInQuarantine) {
    lose(true);
    EXPECT_TRUE(upload->ended()) << "later windows would wait for it for ever";
    EXPECT_EQ(upload->count_lost_second(), 0u);
}

}  // namespace
}  // namespace cinnabar::files
