// SPDX-License-Identifier: BSD-3-Clause
// Versions of contents: whenever the contents are renewed, an operation with an old token is stale and has no effect.
#include "remote_fixture.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/remote_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

using namespace test;

class RemoteVersion : public RemoteWords {};

TEST_P(RemoteVersion, renewing_makes_old_tokens_stale_at_once) {
    const auto old = token();
    const RemoteSpan<std::uint64_t> lasting = shared_.span(Names::any_version).at(pair_.to);
    shared_.renew();
    const auto fresh = token();
    Words few(2), many(count);
    EXPECT_EQ(old.subspan(0, 2).read(user(), few).wait().code(), Errc::stale);
    EXPECT_EQ(old.read(user(), many).wait().code(), Errc::stale);
    EXPECT_EQ(old.subspan(0, 2).write(user(), few).wait().code(), Errc::stale);
    EXPECT_EQ(old.write(user(), many).wait().code(), Errc::stale);
    EXPECT_EQ(old[0].fetch_add(user(), 1).wait().code(), Errc::stale);
    EXPECT_EQ(memory_, counted(count));
    EXPECT_EQ(many, Words(count));
    for (const auto& good : {fresh, lasting}) {
        EXPECT_TRUE(good.read(user(), many).wait().ok());
        EXPECT_EQ(many, memory_);
        EXPECT_TRUE(good[0].fetch_add(user(), 0).wait().ok());
    }
    shared_.renew();
    EXPECT_EQ(fresh[0].read(user()).wait().code(), Errc::stale);
    EXPECT_TRUE(lasting[0].read(user()).wait().ok());
}

// Memory in which each word is the number of its version, except while its owner changes it.
class Versions {
  public:
    Versions(const Node& owner, std::size_t words)
        : memory_(words, 1), shared_(share(owner, std::span(memory_)).value()), token_{1, shared_.span()} {}

    struct Token {
        std::uint64_t version;
        RemoteSpan<std::uint64_t> words;
    };
    [[nodiscard]] Token token() {
        const std::lock_guard lock(mutex_);
        return token_;
    }
    // False: something was written after the contents had been renewed.
    [[nodiscard]] bool use_again() {
        const bool clean = holds(memory_, token_.version);
        shared_.renew();
        std::fill(memory_.begin(), memory_.end(), token_.version + 1);
        const std::lock_guard lock(mutex_);
        token_ = {token_.version + 1, shared_.span()};
        return clean;
    }
    static bool holds(std::span<const std::uint64_t> words, std::uint64_t version) {
        return std::all_of(words.begin(), words.end(), [&](std::uint64_t word) { return word == version; });
    }

  private:
    Words memory_;
    Shared<std::uint64_t> shared_;
    std::mutex mutex_;
    Token token_;
};

// Reads or writes some words with the newest token, or with one that was the newest a moment ago.
class Visitor {
  public:
    Visitor(Versions& versions, std::uint64_t seed, std::size_t words)
        : versions_(&versions), random_(seed), words_(words), token_(versions.token()) {}

    // False: stale bytes were returned as fresh.
    Task<bool> visit(hl::NodeRef user, Addr owner) {
        if (random_.chance(2)) token_ = versions_->token();
        const std::size_t size = 1 + random_.below(random_.chance(2) ? words_ : 100);
        const auto part = token_.words.subspan(random_.below(words_ - size + 1), size).at(owner);
        const bool write = random_.chance(3);
        if (random_.chance(3)) co_return co_await visit_blocks(user, part, write);
        if (random_.chance(4)) co_return co_await visit_by_plan(user, part, write);
        Words local(size, token_.version);
        if (write) {
            const auto written = co_await part.write(user, local);
            count(written);
            co_return ended_well(written);
        }
        local.assign(size, 0);
        const auto read = co_await part.read(user, local);
        count(read);
        co_return ended_well(read) && (!read || Versions::holds(local, token_.version));
    }
    std::uint64_t fresh = 0;
    std::uint64_t stale = 0;

  private:
    // Uses a list of every other group of a few words.
    Task<bool> visit_blocks(hl::NodeRef user, RemoteSpan<std::uint64_t> part, bool write) {
        const std::uint64_t each = 1 + random_.below(std::min<std::uint64_t>(part.size(), 50));
        const std::uint64_t blocks = (part.size() - each) / (2 * each) + 1;
        const auto list = bulk::Blocks::strided(0, 8 * each, 16 * each, blocks).value();
        Words local(blocks * each, write ? token_.version : 0);
        const auto region = Region::expose(std::as_writable_bytes(std::span(local)), Access::read_write).value();
        if (write) {
            const auto written = co_await hl::write_blocks(user, part.token(), list, region);
            count(written);
            co_return ended_well(written);
        }
        const auto read = co_await hl::read_blocks(user, part.token(), list, region);
        count(read);
        co_return ended_well(read) && (!read || Versions::holds(local, token_.version));
    }
    // Uses every third block of a plan.
    Task<bool> visit_by_plan(hl::NodeRef user, RemoteSpan<std::uint64_t> part, bool write) {
        const std::uint64_t each = 1 + random_.below(std::min<std::uint64_t>(part.size(), 50));
        std::vector<std::uint32_t> there, here;
        for (std::uint64_t i = 0; i < part.size() / each; i += 3) {
            here.push_back(static_cast<std::uint32_t>(there.size()));
            there.push_back(static_cast<std::uint32_t>(i));
        }
        Words local(there.size() * each, write ? token_.version : 0);
        const auto region = Region::expose(std::as_writable_bytes(std::span(local)), Access::read_write).value();
        const auto plan = hl::TransferPlan::make(user, part.token(), region, 8 * each).value();
        if (write) {
            const auto written = co_await plan.write(there, here);
            count(written);
            co_return ended_well(written);
        }
        const auto read = co_await plan.read(there, here);
        count(read);
        co_return ended_well(read) && (!read || Versions::holds(local, token_.version));
    }
    static bool ended_well(const Result<std::uint64_t>& moved) {
        EXPECT_TRUE(moved || moved.code() == Errc::stale) << moved.error().message();
        return moved || moved.code() == Errc::stale;
    }
    void count(const Result<std::uint64_t>& moved) { ++(moved ? fresh : stale); }

    Versions* versions_;
    Random random_;
    std::size_t words_;
    Versions::Token token_;
};

// The owner's thread reuses the memory while visitors read and write it.
TEST_P(RemoteVersion, stale_bytes_are_never_served_as_fresh) {
    Versions versions(owner(), count);
    std::atomic<bool> over{false};
    std::atomic<bool> clean{true};
    std::thread renewing;
    // The thread sanitizer sees that bytes are read while they change, but not that they are then discarded. With it,
    // the contents change only between the operations of a single visitor.
    const bool one_thread = GetParam().name == "sim";
    const bool beside = !one_thread && !support::thread_sanitizer;
    const std::uint64_t count_of_visitors = beside || one_thread ? 4 : 1;
    const auto use_again = [&] { clean = versions.use_again() && clean; };
    if (beside)
        renewing = std::thread([&] {
            while (!over) use_again();
        });
    const auto look = [&](std::uint64_t seed) -> Task<Visitor> {
        Visitor visitor(versions, seed, count);
        for (int i = 0; i < 60; ++i) {
            if (!beside && i % 3 == 0) use_again();
            EXPECT_TRUE(co_await visitor.visit(user(), pair_.to)) << "stale bytes";
        }
        co_return visitor;
    };
    std::vector<Task<Visitor>> visitors;
    for (std::uint64_t seed = 0; seed < count_of_visitors; ++seed) visitors.push_back(look(seed));
    const auto all = sync_wait(hl::when_all(std::move(visitors))).value();
    over = true;
    if (renewing.joinable()) renewing.join();
    EXPECT_TRUE(clean) << "written after it was renewed";
    std::uint64_t stale = 0;
    for (const Visitor& each : all) stale += each.stale;
    EXPECT_GT(stale, 0u);
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteVersion);

// On the simulated network the contents change at random moments of slow transfers.
TEST(RemoteVersionSeeds, stale_bytes_are_never_served_as_fresh) {
    std::uint64_t fresh = 0, stale = 0;
    for_each_seed(
        [&](std::uint64_t seed) {
            constexpr std::size_t words = 40'000;
            Pair pair(way_named("sim"));
            Versions versions(pair.owner, words);
            Random random(seed);
            bool over = false;
            const auto renew = [&]() -> Task<void> {
                while (!over) {
                    (void)co_await pair.owner.sleep_for(Microseconds{static_cast<std::int64_t>(1 + random.below(400))});
                    EXPECT_TRUE(versions.use_again()) << "written after it was renewed";
                }
            };
            const auto look = [&](std::uint64_t number) -> Task<void> {
                Visitor visitor(versions, seed * 8 + number, words);
                for (int i = 0; i < 8; ++i) EXPECT_TRUE(co_await visitor.visit(pair.user, pair.to)) << "stale bytes";
                fresh += visitor.fresh;
                stale += visitor.stale;
            };
            const auto all = [&]() -> Task<void> {
                std::vector<Task<void>> visitors;
                for (std::uint64_t i = 0; i < 3; ++i) visitors.push_back(look(i));
                (void)co_await hl::when_all(std::move(visitors));
                over = true;
            };
            EXPECT_TRUE(sync_wait(hl::when_all(renew(), all())).ok());
        },
        4);
    RecordProperty("fresh", std::to_string(fresh));
    RecordProperty("stale", std::to_string(stale));
    std::printf("%llu fresh, %llu stale\n", static_cast<unsigned long long>(fresh),
                static_cast<unsigned long long>(stale));
}

}  // namespace
}  // namespace cinnabar
