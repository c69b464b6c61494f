// SPDX-License-Identifier: BSD-3-Clause
// The owner of shared memory, another process (far_peer.cpp), is killed or stopped while its memory is read or written.
#include "other_process.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>
#include <cinnabar/hl/remote_steps.hpp>

#include <functional>
#include <optional>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<RemoteSpan<std::uint64_t>()> get_shared{"get_shared"};
constexpr std::size_t shared_bytes = (std::size_t{1} << 20) * sizeof(std::uint64_t);

class RemoteKill : public testing::Test {
  protected:
    using Move = Task<Result<std::uint64_t>> (*)(hl::NodeRef, hl::RemoteBytes, Region, RemoteSteps);

    // Moves all of the memory; `meanwhile` runs once, after the first step.
    [[nodiscard]] Result<std::uint64_t> move(Move how, const std::function<void()>& meanwhile,
                                             std::optional<Microseconds> deadline = {}) {
        bool did = false;
        const std::function<void(std::uint64_t)> progress = [&](std::uint64_t) {
            if (!did) meanwhile();
            did = true;
        };
        RemoteSteps steps;
        steps.step_bytes = std::uint64_t{128} << 10;
        steps.progress = &progress;
        steps.moved = &moved_;
        steps.deadline = deadline;
        return sync_wait(how(node_.ref(), token_.token(), local_, steps));
    }
    void expect_killed(Move how) {
        const auto ended = move(how, [this] { other_.kill(); });
        const Errc code = ended.code();
        // A step that begins after the loss finds nobody.
        EXPECT_TRUE(code == Errc::peer_lost || code == Errc::unreachable || code == Errc::refused) << to_string(code);
        EXPECT_GT(moved_, 0u);
        EXPECT_LT(moved_, shared_bytes);
        EXPECT_FALSE(local_.quarantined());
        const Errc counted = token_[0].fetch_add(node_, 1, {.deadline = 5s}).wait().code();
        EXPECT_NE(counted, Errc::ok);
    }
    void expect_stopped(Move how) {
        const auto nothing = [] {};
        const auto stop = [this] { other_.stop(); };
        EXPECT_EQ(move(how, stop, 700ms).code(), Errc::timed_out);
        EXPECT_LT(moved_, shared_bytes);
        EXPECT_FALSE(local_.quarantined());
        EXPECT_EQ(token_[0].fetch_add(node_, 1, {.deadline = 20ms}).wait().code(), Errc::timed_out);
        other_.go_on();
        EXPECT_EQ(move(how, nothing).value_or(0), shared_bytes);
    }

    test::OtherProcess other_{CINNABAR_FAR_PEER, "share"};
    std::vector<std::byte> memory_ = std::vector<std::byte>(shared_bytes);
    Node node_ = Node::open("tcp://").value();
    Region local_ = Region::expose(Bytes(memory_), Access::read_write).value();
    Addr to_ = node_.lookup(other_.line()).value();
    RemoteSpan<std::uint64_t> token_ = node_.call(get_shared, to_).wait().value();
    std::uint64_t moved_ = 0;
};

TEST_F(RemoteKill, OfTheOwnerEndsARead) { expect_killed(&hl::read_in_steps); }

TEST_F(RemoteKill, OfTheOwnerEndsAWrite) { expect_killed(&hl::write_in_steps); }

TEST_F(RemoteKill, AStoppedOwnerOfWhatIsReadIsTimedOut) { expect_stopped(&hl::read_in_steps); }

TEST_F(RemoteKill, AStoppedOwnerOfWhatIsWrittenIsTimedOut) { expect_stopped(&hl::write_in_steps); }

}  // namespace
}  // namespace cinnabar
