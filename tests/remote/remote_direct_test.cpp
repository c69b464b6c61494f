// SPDX-License-Identifier: BSD-3-Clause
// Shared memory that the user's process maps and accesses by itself: what it sees, and that the owner's withdrawal ends
// it.
#include "remote_fixture.hpp"

#include <cinnabar/hl/direct_span.hpp>

#include <atomic>
#include <optional>
#include <thread>

namespace cinnabar {
namespace {

using namespace test;
using hl::DirectSpan;
using hl::map_remote;

constexpr Rpc<std::uint64_t()> hold_loop{"hold_loop"};

Task<Result<std::uint64_t>> map_and_read(NodeRef node, RemoteSpan<std::uint64_t> token, std::uint64_t index) {
    const auto mapped = co_await map_remote(node, token);
    if (!mapped) co_return mapped.error();
    co_return mapped->read(index);
}

// Words in memory of the owner's library.
class DirectWords {
  public:
    static constexpr std::size_t count = 40'000;

    explicit DirectWords(const Way& way)
        : pair(way),
          memory(pair.owner.allocate(count * sizeof(std::uint64_t)).value()),
          shared(share<std::uint64_t>(pair.owner, memory).value()) {
        for (std::uint64_t i = 0; i < count; ++i) word(i) = i;
    }
    [[nodiscard]] std::uint64_t& word(std::size_t index) const {
        return reinterpret_cast<std::uint64_t*>(memory.contiguous().data())[index];
    }
    [[nodiscard]] RemoteSpan<std::uint64_t> lasting() const { return shared.span(Names::any_version).at(pair.to); }

    Pair pair;
    Region memory;
    Shared<std::uint64_t> shared;
};

class RemoteDirect : public testing::Test {
  protected:
    RemoteDirect() {
        EXPECT_TRUE(words_.shared.allow_direct().ok());
        direct_.emplace(map_remote(words_.pair.user, words_.lasting()).wait());
    }
    void SetUp() override {
        if (direct_->code() == Errc::unsupported)
            GTEST_SKIP() << "this system does not let a process map the memory of another";
        ASSERT_TRUE(direct_->ok()) << direct_->error().message();
    }
    [[nodiscard]] DirectSpan<std::uint64_t>& direct() { return **direct_; }

    DirectWords words_{way_named("shm")};
    std::optional<Result<DirectSpan<std::uint64_t>>> direct_;
};

TEST_F(RemoteDirect, reads_and_writes_the_memory_itself) {
    ASSERT_EQ(direct().size(), DirectWords::count);
    EXPECT_EQ(direct().read(7).value(), 7u);
    words_.word(7) = 70;
    EXPECT_EQ(direct().read(7).value(), 70u);
    EXPECT_EQ(direct().write(8, 80), Errc::ok);
    EXPECT_EQ(words_.word(8), 80u);

    Words many(30'000);  // in several steps
    EXPECT_EQ(direct().read(9, many), Errc::ok);
    EXPECT_EQ(many, counted(many.size(), 9));
    const Words fresh = counted(many.size(), 1'000'000);
    EXPECT_EQ(direct().write(9, fresh), Errc::ok);
    EXPECT_EQ(words_.word(8), 80u);
    EXPECT_EQ(words_.word(9), 1'000'000u);
    EXPECT_EQ(words_.word(30'008), 1'029'999u);
    EXPECT_EQ(words_.word(30'009), 30'009u);
}

TEST_F(RemoteDirect, counts_together_with_calls_and_the_owner) {
    constexpr std::uint64_t each = 2000;
    const auto by_call = words_.lasting()[0];
    std::thread owner([this] {
        for (std::uint64_t i = 0; i < each; ++i) (void)std::atomic_ref(words_.word(0)).fetch_add(1);
    });
    std::thread other([this] {
        for (std::uint64_t i = 0; i < each; ++i) EXPECT_TRUE(direct().fetch_add(0, 1).ok());
    });
    for (std::uint64_t i = 0; i < each; ++i) EXPECT_TRUE(direct().fetch_add(0, 1).ok());
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(by_call.fetch_add(words_.pair.user, 1).wait().ok());
    owner.join();
    other.join();
    EXPECT_EQ(direct().read(0).value(), 3 * each + 20);
    EXPECT_EQ(direct().compare_swap(0, 1, 5).value(), 3 * each + 20);
    EXPECT_EQ(direct().exchange(0, 6).value(), 3 * each + 20);
    EXPECT_EQ(by_call.read(words_.pair.user).wait().value(), 6u);
}

TEST_F(RemoteDirect, does_not_need_the_owner_to_run) {
    std::atomic<bool> entered{false};
    std::atomic<bool> leave{false};
    words_.pair.owner
        .serve(hold_loop,
               [&]() -> std::uint64_t {
                   entered.store(true);
                   entered.notify_all();
                   leave.wait(false);
                   return 1;
               })
        .value();
    auto held = words_.pair.user.call(hold_loop, words_.pair.to).future();
    entered.wait(false);
    EXPECT_EQ(direct().read(3).value(), 3u);
    EXPECT_EQ(direct().write(3, 4), Errc::ok);
    EXPECT_EQ(words_.word(3), 4u);
    leave.store(true);
    leave.notify_all();
    EXPECT_EQ(held.get().value(), 1u);
}

TEST_F(RemoteDirect, ends_with_the_sharing) {
    EXPECT_EQ(direct().write(0, 1), Errc::ok);
    EXPECT_EQ(words_.shared.withdraw(), Errc::ok);
    Words few(2);
    EXPECT_EQ(direct().read(0).code(), Errc::stale);
    EXPECT_EQ(direct().read(0, few), Errc::stale);
    EXPECT_EQ(direct().write(0, 2), Errc::stale);
    EXPECT_EQ(direct().fetch_add(0, 2).code(), Errc::stale);
    EXPECT_EQ(words_.word(0), 1u);
    // The slots of the table and of the board are used again.
    auto again = share<std::uint64_t>(words_.pair.owner, words_.memory).value();
    EXPECT_TRUE(again.allow_direct().ok());
    EXPECT_EQ(direct().write(0, 2), Errc::stale);
    EXPECT_EQ(words_.word(0), 1u);
}

// The writer is between any two instructions when the memory is withdrawn.
TEST_F(RemoteDirect, nothing_is_written_once_the_memory_is_withdrawn) {
    std::optional<Result<DirectSpan<std::uint64_t>>> mapped = std::move(direct_);
    for (int round = 0; round < 20; ++round) {
        DirectSpan<std::uint64_t>& span = **mapped;
        std::atomic<bool> writes{false};
        Errc ended = Errc::ok;
        std::thread writer([&] {
            for (std::uint64_t i = 1; ended == Errc::ok; ++i) {
                ended = span.write(0, i);
                writes.store(true);
                writes.notify_all();
            }
        });
        writes.wait(false);
        Errc withdrawn = words_.shared.withdraw();
        while (withdrawn == Errc::busy) {  // the writer's thread had to wait for a processor
            words_.pair.owner.poll();
            withdrawn = words_.shared.withdraw();
        }
        EXPECT_EQ(withdrawn, Errc::ok);
        words_.word(0) = 0;
        writer.join();
        EXPECT_EQ(ended, Errc::stale);
        EXPECT_EQ(words_.word(0), 0u) << "round " << round;
        words_.shared = share<std::uint64_t>(words_.pair.owner, words_.memory).value();
        ASSERT_TRUE(words_.shared.allow_direct().ok());
        mapped.emplace(map_remote(words_.pair.user, words_.lasting()).wait());
        ASSERT_TRUE(mapped->ok()) << mapped->error().message();
    }
}

TEST_F(RemoteDirect, renewing_leaves_what_names_no_version) {
    words_.shared.renew();
    EXPECT_EQ(direct().read(5).value(), 5u);
    const auto versioned = words_.shared.span().at(words_.pair.to);
    EXPECT_EQ(map_remote(words_.pair.user, versioned).wait().code(), Errc::unsupported);
    EXPECT_TRUE(versioned[0].read(words_.pair.user).wait().ok());
}

TEST_F(RemoteDirect, a_token_is_mapped_with_its_bounds_and_access) {
    const auto part = words_.shared.span(100, 10, Access::read, Names::any_version).at(words_.pair.to);
    const auto readable = map_remote(words_.pair.user, part.subspan(2, 3)).wait().value();
    ASSERT_EQ(readable.size(), 3u);
    EXPECT_EQ(readable.read(0).value(), 102u);
    EXPECT_EQ(readable.write(0, 1), Errc::permission);
    EXPECT_EQ(readable.fetch_add(0, 1).code(), Errc::permission);
    EXPECT_EQ(words_.word(102), 102u);
    const auto writable = words_.shared.span(200, 1, Access::write, Names::any_version).at(words_.pair.to);
    const auto written = map_remote(words_.pair.user, writable).wait().value();
    EXPECT_EQ(written.read(0).code(), Errc::permission);
    EXPECT_EQ(written.write(0, 5), Errc::ok);
    EXPECT_EQ(words_.word(200), 5u);
}

TEST_F(RemoteDirect, forged_tokens_are_not_mapped) {
    hl::RemoteGrant grant = words_.shared.span(0, 1, Access::read, Names::any_version).token().grant();
    grant.bytes = 2 * sizeof(std::uint64_t);
    const RemoteSpan<std::uint64_t> forged(RemoteBytes(grant, words_.pair.to));
    EXPECT_EQ(map_remote(words_.pair.user, forged).wait().code(), Errc::permission);
}

TEST_F(RemoteDirect, can_be_mapped_in_a_task) {
    EXPECT_EQ(sync_wait(map_and_read(words_.pair.user, words_.lasting(), 11)).value(), 11u);
}

TEST_F(RemoteDirect, outlives_the_user_but_not_the_connection) {
    std::optional<DirectSpan<std::uint64_t>> kept;
    {
        const Node user = Node::open("shm://").value();
        const auto token = words_.lasting().at(user.lookup(words_.pair.owner.address()).value());
        kept.emplace(map_remote(user, token).wait().value());
        EXPECT_EQ(kept->write(1, 9), Errc::ok);
    }
    EXPECT_EQ(kept->write(1, 10), Errc::peer_lost);
    EXPECT_EQ(words_.word(1), 9u);
    EXPECT_EQ(words_.shared.withdraw(), Errc::ok);
}

// Where memory cannot be mapped, the owner says so when it allows it, or the user when it maps.
class RemoteNotDirect : public testing::TestWithParam<Way> {};
CINNABAR_ON_EACH_REMOTE_WAY(RemoteNotDirect);

TEST_P(RemoteNotDirect, is_unsupported_and_changes_nothing) {
    if (GetParam().name == "shm") GTEST_SKIP() << "it can be mapped";
    DirectWords words(GetParam());
    EXPECT_EQ(words.shared.allow_direct().code(), Errc::unsupported);
    EXPECT_EQ(map_remote(words.pair.user, words.lasting()).wait().code(), Errc::unsupported);
    EXPECT_EQ(words.lasting()[6].read(words.pair.user).wait().value(), 6u);
    EXPECT_EQ(words.shared.withdraw(), Errc::ok);
}

TEST(RemoteDirectOwner, cannot_allow_it_for_memory_of_its_own) {
    DirectWords words(way_named("shm"));
    Words own = counted(4);
    auto shared = share(words.pair.owner, std::span(own)).value();
    EXPECT_EQ(shared.allow_direct().code(), Errc::unsupported);
    EXPECT_FALSE(shared.span(Names::any_version).token().is_direct());
    EXPECT_EQ(shared.withdraw(), Errc::ok);
    EXPECT_EQ(words.shared.withdraw(), Errc::ok);
    EXPECT_EQ(words.shared.allow_direct().code(), Errc::stale);
}

TEST(RemoteDirectOwner, may_end_before_what_it_shares) {
    std::optional<DirectWords> words(std::in_place, way_named("shm"));
    Shared<std::uint64_t> kept = std::move(words->shared);
    EXPECT_TRUE(kept.allow_direct().ok());
    words.reset();
    EXPECT_EQ(kept.withdraw(), Errc::ok);
}

}  // namespace
}  // namespace cinnabar
