// SPDX-License-Identifier: BSD-3-Clause
// Files and other far memory that nodes lend, pull and push, over each transport that needs no device.
#include "far_fixture.hpp"
#include "remote/remote_fixture.hpp"
#include "support/log_watch.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<std::uint64_t(Bulk)> move_it{"move_it"};
constexpr std::size_t mib = 1 << 20;

class FileBulk : public testing::TestWithParam<Way> {
  protected:
    // Serves the call with a transfer between the lent memory and `local`.
    void serve(bulk::Direction direction, Region local, std::stop_token stop = {}) {
        const auto move = [this, direction, local, stop](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const TransferOptions options{.moved = &moved_};
            const Region mine = local;
            auto transfer =
                direction == bulk::Direction::pull ? request->pull(mine, options) : request->push(mine, options);
            auto ended = co_await with_stop(std::move(transfer), stop);
            if (!ended) error_ = ended.error();
            served_ = true;
            co_return ended;
        };
        ASSERT_TRUE(nodes_.owner.serve(move_it, move).ok());
    }
    [[nodiscard]] Errc call(const Region& lent) {
        return nodes_.user.call(move_it, nodes_.to, lent, 60s).wait().code();
    }

    std::uint64_t moved_ = 0;
    std::optional<Error> error_;
    std::atomic<bool> served_{false};
    Pair nodes_{GetParam()};
};

TEST_P(FileBulk, a_file_is_pulled_into_a_file) {
    const PatternFile from(2 * mib, 1);
    const PatternFile to(0);
    constexpr std::size_t bytes = 2 * mib - 77;
    serve(bulk::Direction::pull, to.region(500, bytes, Access::write));
    EXPECT_EQ(call(from.region(77, bytes, Access::read)), Errc::ok);
    EXPECT_EQ(moved_, bytes);
    ASSERT_EQ(to.bytes().size(), 500 + bytes);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(to.bytes()).subspan(500), 1, 77));
}

TEST_P(FileBulk, memory_is_pushed_into_a_lent_file_and_read_from_it) {
    const PatternFile lent(2 * mib, 1);
    std::vector<std::byte> memory(2 * mib);
    support::fill_pattern(memory, 2);
    serve(bulk::Direction::push, nodes_.owner.expose(std::span(memory)).value());
    EXPECT_EQ(call(lent.region(0, 2 * mib)), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(lent.bytes(), 2));
}

TEST_P(FileBulk, lists_of_memory_and_files_move_both_ways) {
    const PatternFile head(mib, 1);
    const PatternFile tail(mib, 3);
    std::vector<std::byte> middle(mib + 7);
    support::fill_pattern(middle, 2);
    const std::array parts{head.region(0, 1000), nodes_.user.expose(std::span(middle)).value(),
                           tail.region(5, mib - 5)};
    const Region lent = Region::join(parts, Access::read_write).value();
    std::vector<std::byte> there(lent.bytes());
    serve(bulk::Direction::pull, nodes_.owner.expose(std::span(there)).value());
    ASSERT_EQ(call(lent), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).first(1000), 1));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).subspan(1000, middle.size()), 2));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).subspan(1000 + middle.size()), 3, 5));
}

TEST_P(FileBulk, contents_of_the_call_are_stored) {
    const PatternFile to(10);
    std::vector<std::byte> few(100, std::byte{9});
    serve(bulk::Direction::pull, to.region(0, 100, Access::write));
    const auto lent = nodes_.user.expose(std::span<const std::byte>(few)).value();
    EXPECT_EQ(call(lent), Errc::ok);
    EXPECT_EQ(to.bytes(), few);
}

TEST_P(FileBulk, a_file_that_has_become_shorter_ends_it_as_stale) {
    const PatternFile lent(4 * mib, 1);
    const Region region = lent.region(0, 4 * mib, Access::read);
    lent.truncate(mib);
    std::vector<std::byte> there(4 * mib);
    serve(bulk::Direction::pull, nodes_.owner.expose(std::span(there)).value());
    EXPECT_EQ(call(region), Errc::stale);
    ASSERT_TRUE(error_);
    EXPECT_EQ(error_->code, Errc::stale);
    EXPECT_LE(moved_, mib);
    EXPECT_NE(error_->message().find(std::to_string(moved_) + " of"), std::string::npos) << error_->message();
}

TEST_P(FileBulk, a_failing_copy_tells_its_own_code_and_the_systems) {
    const auto far = std::make_shared<MadeUpFar>(4 * mib);
    far->fail_after(3, Errc::no_space);
    std::vector<std::byte> lent(4 * mib);
    serve(bulk::Direction::pull, Region::of_far(far, Access::write).value());
    EXPECT_EQ(call(nodes_.user.expose(std::span(lent)).value()), Errc::no_space);
    ASSERT_TRUE(error_);
    EXPECT_EQ(error_->os_errno, 5);
    EXPECT_LE(moved_, 3 * 896 * 1024u);
}

// On the real clock, since copies run at once on the simulator's.
class SlowCopies : public FileBulk {};

// The call waits for a copy that has started, and the lent memory is not touched after the call has ended.
TEST_P(SlowCopies, lent_far_memory_is_fenced_when_the_call_ends_early) {
    const auto far = std::make_shared<MadeUpFar>(4 * mib);
    far->take_long(100ms);
    std::vector<std::byte> there(4 * mib);
    serve(bulk::Direction::push, nodes_.owner.expose(std::span(there)).value());
    auto pending = nodes_.user.call(move_it, nodes_.to, Region::of_far(far, Access::write).value(), 60s).future();
    far->await_begin();
    pending.cancel();
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    EXPECT_EQ(far->ended, far->entered) << "a copy is under way";
    const int entered = far->entered;
    { const Node gone(std::move(nodes_.owner)); }
    EXPECT_EQ(far->entered, entered) << "a copy has begun since";
}

TEST_P(SlowCopies, a_stopped_pull_stores_nothing_after_its_end) {
    const auto far = std::make_shared<MadeUpFar>(8 * mib);
    std::vector<std::byte> lent(8 * mib);
    std::stop_source stop;
    far->take_long(100ms, [&stop] { stop.request_stop(); });
    serve(bulk::Direction::pull, Region::of_far(far, Access::write).value(), stop.get_token());
    EXPECT_EQ(call(nodes_.user.expose(std::span(lent)).value()), Errc::canceled);
    EXPECT_EQ(far->ended, far->entered);
    EXPECT_LE(far->entered, 2) << "those that waited for a thread were dropped";
}

TEST_P(SlowCopies, a_node_that_closes_waits_for_the_copy_under_way) {
    const auto far = std::make_shared<MadeUpFar>(4 * mib);
    std::vector<std::byte> lent(4 * mib);
    far->take_long(100ms);
    serve(bulk::Direction::pull, Region::of_far(far, Access::write).value());
    auto pending = nodes_.user.call(move_it, nodes_.to, nodes_.user.expose(std::span(lent)).value(), 60s).future();
    far->await_begin();
    { const Node gone(std::move(nodes_.owner)); }
    EXPECT_EQ(far->ended, far->entered);
    EXPECT_NE(pending.get().code(), Errc::ok);
}

TEST_P(SlowCopies, a_node_that_closes_lets_go_of_what_the_owner_moves_for_it) {
    const auto far = std::make_shared<MadeUpFar>(4 * mib);
    std::vector<std::byte> there(4 * mib);
    far->take_long(100ms);
    serve(bulk::Direction::pull, nodes_.owner.expose(std::span(there)).value());
    auto pending = nodes_.user.call(move_it, nodes_.to, Region::of_far(far, Access::read).value(), 60s).future();
    far->await_begin();
    { const Node gone(std::move(nodes_.owner)); }
    const std::vector<std::byte> at_the_end = there;
    EXPECT_NE(pending.get().code(), Errc::ok);
    EXPECT_EQ(far->ended, far->entered) << "the lender has its memory back";
    EXPECT_EQ(there, at_the_end);
}

// A disk that hangs: a copy does not end before the test lets it.
class HangingDisk : public testing::TestWithParam<Way> {
  protected:
    static NodeOptions soon() {
        NodeOptions options;
        options.rpc.shown_grace = 100ms;
        return options;
    }
    void TearDown() override { go_.set_value(); }
    std::promise<void> go_;
    Pair nodes_{GetParam(), soon()};
};

TEST_P(HangingDisk, holds_no_call_that_lent_it_longer_than_the_grace) {
    support::LogWatch log;
    log.allow("a copy of it does not end");
    std::vector<std::byte> there(mib / 2);
    const Region into = nodes_.owner.expose(std::span(there)).value();
    const auto pull = [into](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        const Region mine = into;
        co_return co_await request->pull(mine);
    };
    ASSERT_TRUE(nodes_.owner.serve(move_it, pull).ok());
    const auto far = std::make_shared<MadeUpFar>(mib / 2);
    far->take_long(0ms, [held = go_.get_future().share()] { held.wait(); });
    const Region lent = Region::of_far(far, Access::read).value();
    auto pending = nodes_.user.call(move_it, nodes_.to, lent, 60s).future();
    while (far->entered == 0) std::this_thread::yield();
    pending.cancel();
    const Result<std::uint64_t> ended = pending.get();
    EXPECT_EQ(ended.code(), Errc::canceled);
    EXPECT_EQ(far->ended, 0);
    EXPECT_TRUE(lent.quarantined());
    EXPECT_NE(ended.error().hint.find("Region::quarantined()"), std::string::npos) << ended.error().hint;
    std::exchange(go_, {}).set_value();
    while (lent.quarantined()) std::this_thread::yield();
    EXPECT_EQ(far->ended, 1);
    EXPECT_EQ(log.allowed(), 1u);
}

// The call is in progress, so its transfer goes on, although each chunk is a request of its own.
class DrainedTransfer : public SlowCopies {
  protected:
    // A node begins to drain when the first chunk is copied.
    void expect_pulled_while_draining(const Node& draining) {
        const auto far = std::make_shared<MadeUpFar>(16 * mib);
        std::vector<std::byte> there(16 * mib);
        far->take_long(0ms, [&draining] { EXPECT_EQ(draining.drain(Microseconds{0}), Errc::timed_out); });
        serve(bulk::Direction::pull, nodes_.owner.expose(std::span(there)).value());
        EXPECT_EQ(call(Region::of_far(far, Access::read).value()), Errc::ok);
        EXPECT_EQ(there, far->memory());
        EXPECT_EQ(draining.drain(60s), Errc::ok);
    }
};

TEST_P(DrainedTransfer, goes_on_at_the_side_that_moves) { expect_pulled_while_draining(nodes_.owner); }

TEST_P(DrainedTransfer, goes_on_at_the_side_that_lends) { expect_pulled_while_draining(nodes_.user); }

// Over tcp: the key leads the third party to the owner, like the keys of transports.
TEST(FileForwarded, a_third_party_pulls_it_from_the_owner) {
    constexpr Rpc<std::uint64_t(Bulk)> keep_it{"keep_it"};
    const Node store = Node::listen("tcp://127.0.0.1:0").value();
    const auto keep = [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        CINNABAR_CO_TRY(const auto fetched, co_await request->fetch<std::byte>({.follow_owner = true}));
        co_return support::holds_pattern(fetched.values(), 1) ? fetched.size() : 0;
    };
    ASSERT_TRUE(store.serve(keep_it, keep).ok());
    const Node gateway = Node::listen("tcp://127.0.0.1:0").value();
    const Addr to = gateway.lookup(store.address()).value();
    const auto hand_on = [to, keep_it](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        co_return co_await request.node().call(keep_it, to, *request);
    };
    ASSERT_TRUE(gateway.serve(move_it, hand_on).ok());
    const Node owner = Node::listen("tcp://127.0.0.1:0").value();
    const PatternFile file(2 * mib);
    const Addr peer = owner.lookup(gateway.address()).value();
    const Region region = file.region(0, 2 * mib, Access::read);
    EXPECT_EQ(owner.call(move_it, peer, Bulk(region).forwardable()).wait().value_or(7), 2 * mib);
}

// One transport for each way of moving memory.
std::vector<Way> far_ways() {
    std::vector<Way> some;
    for (const Way& way : remote_ways()) {
        const std::array names{"tcp", "tcps", "shm", "self", "sim", "ofi_tcp_rxm", "ofis_tcp_rxm", "ofi_net", "cable"};
        if (std::find(names.begin(), names.end(), way.name) != names.end()) some.push_back(way);
    }
    return some;
}
// Encryption adds nothing to a disk or a copy that is slow.
std::vector<Way> far_ways_by_real_clock() {
    std::vector<Way> some = far_ways();
    std::erase_if(some, [](const Way& way) { return way.name == "sim" || way.name == "tcps"; });
    std::erase_if(some, [](const Way& way) { return way.name == "ofis_tcp_rxm"; });
    return some;
}
INSTANTIATE_TEST_SUITE_P(Over, FileBulk, testing::ValuesIn(far_ways()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Over, HangingDisk, testing::ValuesIn(far_ways_by_real_clock()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Over, DrainedTransfer, testing::ValuesIn(far_ways_by_real_clock()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Over, SlowCopies, testing::ValuesIn(far_ways_by_real_clock()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace cinnabar
