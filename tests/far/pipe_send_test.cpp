// SPDX-License-Identifier: BSD-3-Clause
// Files that are sent to a peer through a pipe, over tcp: when that is done, and how it ends.
#include "far_fixture.hpp"
#include "remote/remote_fixture.hpp"
#include "splice_faults.hpp"
#include "support/sanitizers.hpp"

#include <sys/wait.h>

#include <array>
#include <optional>
#include <stop_token>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<std::uint64_t(Bulk)> pull_it{"pull_it"};
constexpr Rpc<std::uint64_t(Bulk)> push_it{"push_it"};
constexpr std::size_t file_bytes = 4 << 20;
constexpr std::size_t sent_bytes = file_bytes - 99;

// The owner pulls the lent memory into `there_`, or pushes `local_` to it.
class PipeSend : public testing::Test {
  protected:
    explicit PipeSend(const Way& way = way_named("tcp")) : nodes_(way) {
        const auto pull = [this](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region into = nodes_.owner.expose(std::span(there_)).value();
            co_return co_await ended(with_stop(request->pull(into, {.moved = &moved_}), stop_.get_token()));
        };
        const auto push = [this](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            co_return co_await ended(with_stop(request->push(local_, {.moved = &moved_}), stop_.get_token()));
        };
        EXPECT_TRUE(nodes_.owner.serve(pull_it, pull).ok());
        EXPECT_TRUE(nodes_.owner.serve(push_it, push).ok());
    }
    template <typename Move>
    Task<Result<std::uint64_t>> ended(Move move) {
        auto result = co_await std::move(move);
        if (!result) error_ = result.error();
        co_return result;
    }
    [[nodiscard]] Errc call(const Rpc<std::uint64_t(Bulk)>& rpc, const Region& lent) {
        return nodes_.user.call(rpc, nodes_.to, lent, 60s).wait().code();
    }
    [[nodiscard]] Errc pull_of(const PatternFile& file) {
        return call(pull_it, file.region(77, sent_bytes, Access::read));
    }
    [[nodiscard]] bool holds(std::uint64_t seed) const { return support::holds_pattern(there_, seed, 77); }

    std::vector<std::byte> there_ = std::vector<std::byte>(sent_bytes);
    Region local_;
    std::uint64_t moved_ = 0;
    std::optional<Error> error_;
    std::stop_source stop_;
    SpliceFaults faults_;
    Pair nodes_;
};

TEST_F(PipeSend, ALentFileIsNotReadIntoMemory) {
    const PatternFile file(file_bytes);
    EXPECT_EQ(pull_of(file), Errc::ok);
    EXPECT_TRUE(holds(1));
    EXPECT_GE(faults_.loads, 5);
    EXPECT_GE(faults_.sends, 5);
}

TEST_F(PipeSend, APushedFileGoesTheSameWay) {
    const PatternFile file(file_bytes);
    local_ = file.region(77, sent_bytes, Access::read);
    EXPECT_EQ(call(push_it, nodes_.user.expose(std::span(there_)).value()), Errc::ok);
    EXPECT_TRUE(holds(1));
    EXPECT_GE(faults_.sends, 5);
}

TEST_F(PipeSend, AFileWithoutAWayIntoAPipeIsRead) {
    const PatternFile file(file_bytes);
    faults_.fail_loads(1, EINVAL);
    EXPECT_EQ(pull_of(file), Errc::ok);
    EXPECT_TRUE(holds(1));
    EXPECT_GE(faults_.loads, 5);
    EXPECT_EQ(faults_.sends, 0);
}

TEST_F(PipeSend, WithoutPipesItIsRead) {
    const PatternFile file(file_bytes);
    faults_.no_pipes = true;
    EXPECT_EQ(pull_of(file), Errc::ok);
    EXPECT_TRUE(holds(1));
    EXPECT_EQ(faults_.loads, 0);
}

TEST_F(PipeSend, WhatIsPartlyMemoryIsRead) {
    const PatternFile file(1000);
    std::vector<std::byte> rest(1000, std::byte{5});
    const std::array parts{file.region(77, 900, Access::read), nodes_.user.expose(std::span(rest)).value()};
    EXPECT_EQ(call(pull_it, Region::join(parts, Access::read).value()), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there_).first(900), 1, 77));
    EXPECT_EQ(there_[900], std::byte{5});
    EXPECT_EQ(faults_.loads, 0);
}

class PipeSendByTls : public PipeSend {
  protected:
    PipeSendByTls() : PipeSend(way_named("tcps")) {}
};

TEST_F(PipeSendByTls, WhatIsEncryptedIsRead) {
    const PatternFile file(file_bytes);
    EXPECT_EQ(pull_of(file), Errc::ok);
    EXPECT_TRUE(holds(1));
    EXPECT_EQ(faults_.loads, 0);
}

TEST_F(PipeSend, AFailingDiskEndsItWithItsCode) {
    const PatternFile file(file_bytes);
    faults_.fail_loads(3, EIO);
    local_ = file.region(0, sent_bytes, Access::read);
    EXPECT_EQ(call(push_it, nodes_.user.expose(std::span(there_)).value()), Errc::io);
    ASSERT_TRUE(error_);
    EXPECT_EQ(error_->os_errno, EIO);
    EXPECT_LE(moved_, file_bytes / 2);
}

// As with a network file system.
TEST_F(PipeSend, PagesThatAreLostInThePipeEndItWithIo) {
    const PatternFile file(file_bytes);
    faults_.send_errno = ENODATA;
    EXPECT_EQ(pull_of(file), Errc::io);
    faults_.send_errno = 0;
    EXPECT_EQ(pull_of(file), Errc::ok);
    EXPECT_TRUE(holds(1)) << "over the same connection";
}

TEST_F(PipeSend, AFileThatBecomesShorterMeanwhileEndsItAsStale) {
    const PatternFile file(file_bytes);
    faults_.before_load(3, [&file] { file.truncate(file_bytes / 8); });
    EXPECT_EQ(pull_of(file), Errc::stale);
    EXPECT_LT(moved_, sent_bytes);
}

// The pipes hold bytes that were not sent. None of them reaches a later transfer, and no more of the file is read.
TEST_F(PipeSend, WhatAStoppedTransferLeftInPipesIsDropped) {
    const PatternFile first(file_bytes, 1);
    const PatternFile second(file_bytes, 2);
    faults_.no_room = true;
    std::thread stopper([this] {
        while (faults_.sends == 0) std::this_thread::yield();
        stop_.request_stop();
    });
    EXPECT_EQ(pull_of(first), Errc::canceled);
    stopper.join();
    const int loads = faults_.loads;
    stop_ = std::stop_source();
    faults_.no_room = false;
    EXPECT_EQ(faults_.loads, loads);
    EXPECT_EQ(pull_of(second), Errc::ok);
    EXPECT_TRUE(holds(2));
    EXPECT_GT(faults_.loads, loads);
}

TEST_F(PipeSend, ADeadlineEndsItThoughTheSocketHasNoRoom) {
    const PatternFile file(file_bytes);
    faults_.no_room = true;
    const Region lent = file.region(77, sent_bytes, Access::read);
    EXPECT_EQ(nodes_.user.call(pull_it, nodes_.to, lent, 100ms).wait().code(), Errc::timed_out);
    const std::vector<std::byte> at_the_end = there_;
    faults_.no_room = false;
    EXPECT_EQ(pull_of(PatternFile(file_bytes, 2)), Errc::ok);
    EXPECT_TRUE(holds(2));
}

// The child does not have the threads of the parent, which has read files.
TEST(FilesOfAChild, ThatWasForkedAreReadByThreadsOfItsOwn) {
    const auto read_one = [] {
        const PatternFile file(file_bytes);
        const Pair nodes(way_named("tcp"));
        std::vector<std::byte> there(file_bytes);
        const auto pull = [&there](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            co_return co_await request->pull(Bytes(there));
        };
        (void)nodes.owner.serve(pull_it, pull);
        const Region lent = file.region(0, file_bytes, Access::read);
        return nodes.user.call(pull_it, nodes.to, lent, 10s).wait().ok() && support::holds_pattern(there, 1);
    };
    if (support::thread_sanitizer) GTEST_SKIP() << "a child of many threads may start none there";
    ASSERT_TRUE(read_one());
    const pid_t child = ::fork();
    if (child == 0) ::_exit(read_one() ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cinnabar
