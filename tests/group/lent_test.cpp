// SPDX-License-Identifier: BSD-3-Clause
// Bulk calls between members of one host: they copy the caller's memory by themselves. And sources that say that they
// lend it, and do not.
#include "lent_pieces.hpp"
#include "offers.hpp"
#include "support/patterns.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::BulkOptions;
using group::chunk_rpc;
using group::ChunkAnswer;
using group::ChunkRequest;
using group::Group;
using group::GroupOptions;
using group::lend_rpc;
using group::LendRequest;
using group::lent_rpc;
using group::LentPiece;
using group::Portion;
using group::Rank;
using group::Tree;
using group::TreeAnswer;
using group::TreeRequest;

constexpr Rpc<void()> load_all{"test.lent.load"};
// A piece and a part of one.
constexpr std::size_t lent_bytes = std::size_t{group::lent_piece_bytes} + (std::size_t{1} << 20) + 77;
constexpr const char* of_lend = "cinnabar.group.lend";
constexpr const char* of_chunk = "cinnabar.group.chunk";
constexpr const char* of_call = "cinnabar.group.call";

BulkOptions lent_options(Tree tree = Tree::automatic) {
    BulkOptions options;
    options.call.deadline = 20s;
    options.call.tree = tree;
    options.chunk_bytes = 256 << 10;
    return options;
}

std::vector<std::byte> lent_pattern(std::uint64_t seed) {
    std::vector<std::byte> bytes(lent_bytes);
    support::fill_pattern(bytes, seed);
    return bytes;
}

// Stands for a process.
struct Receiver {
    std::vector<std::byte> memory = std::vector<std::byte>(lent_bytes);
    std::atomic<Errc> outcome{Errc::ok};
    std::unique_ptr<Node> node;
    std::optional<Group> group;

    Receiver(const std::string& listen, const std::vector<std::string>& seeds) {
        GroupOptions options;
        options.swim.period = 50ms;
        options.swim.suspicion_min = 20;  // a busy machine must not exclude anybody
        node = std::make_unique<Node>(Node::listen(listen).value());
        group.emplace(
            (seeds.empty() ? Group::create(*node, options) : sync_wait(Group::join(*node, seeds, options))).value());
        Receiver* const own = this;
        const auto load = [own](Portion portion) -> Task<Result<void>> {
            auto receiving = portion.receive(Bytes(own->memory));
            const Result<void> received = co_await receiving;
            own->outcome = received.code();
            co_return received;
        };
        group->serve_bulk(load_all, load).value();
    }
    [[nodiscard]] std::uint64_t served(std::string_view name) const {
        std::uint64_t requests = 0;
        for (const auto& rpc : node->stats()) requests += rpc.name == name ? rpc.requests : 0;
        return requests;
    }
    [[nodiscard]] std::uint64_t called(std::string_view name) const {
        std::uint64_t calls = 0;
        for (const auto& rpc : node->stats()) calls += rpc.name == name ? rpc.calls : 0;
        return calls;
    }
};

class Receivers {
  public:
    Receivers(std::size_t count, const std::string& listen) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::vector<std::string> seeds =
                all.empty() ? std::vector<std::string>{} : std::vector<std::string>{all.front()->node->address()};
            all.push_back(std::make_unique<Receiver>(listen, seeds));
        }
        for (const auto& each : all)
            EXPECT_TRUE(sync_wait(with_deadline(each->group->wait_for_members(count), 10s)).ok());
    }
    // Rank 0 broadcasts memory of the library to all.
    void broadcast(std::uint64_t seed, const BulkOptions& options) {
        const bulk::Region region = all.front()->node->allocate(lent_bytes).value();
        support::fill_pattern(region.contiguous(), seed);
        const auto reached = sync_wait(all.front()->group->broadcast_bulk(load_all, {}, region, options));
        ASSERT_TRUE(reached.ok()) << reached.error().message();
        EXPECT_EQ(reached->count, all.size());
        for (const auto& each : all) EXPECT_TRUE(support::holds_pattern(each->memory, seed));
    }
    std::vector<std::unique_ptr<Receiver>> all;
};

TEST(lent, members_of_a_host_copy_the_callers_memory_by_themselves) {
    Receivers members(4, "shm://");
    members.broadcast(1, lent_options());
    const Receiver& caller = *members.all.front();
    EXPECT_EQ(caller.called(of_call), 3u) << "the caller calls each";
    EXPECT_EQ(caller.served(of_lend), 2u * 3u) << "two pieces for each";
    EXPECT_EQ(caller.served(of_chunk), 0u);
    // The same from ordinary memory.
    std::vector<std::byte> plain = lent_pattern(2);
    const auto region = bulk::Region::expose(ConstBytes(plain)).value();
    EXPECT_EQ(sync_wait(caller.group->broadcast_bulk(load_all, {}, region, lent_options()))->count, 4u);
    for (const auto& each : members.all) EXPECT_TRUE(support::holds_pattern(each->memory, 2));
    EXPECT_EQ(caller.served(of_lend), 4u * 3u);
}

TEST(lent, a_chain_that_was_asked_for_is_a_chain) {
    Receivers members(4, "shm://");
    members.broadcast(3, lent_options(Tree::chain));
    EXPECT_EQ(members.all[0]->called(of_call), 1u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(members.all[i]->served(of_lend), 0u) << i;
        EXPECT_GT(members.all[i]->served(of_chunk), 0u) << i;
    }
}

TEST(lent, chunks_with_checksums_and_those_of_other_transports_are_pushed) {
    Receivers members(3, "shm://");
    BulkOptions summed = lent_options();
    summed.checksum = true;
    members.broadcast(4, summed);
    EXPECT_EQ(members.all[0]->served(of_lend), 0u);
    Receivers remote(3, "tcp://127.0.0.1:0");
    remote.broadcast(5, lent_options());
    EXPECT_EQ(remote.all[0]->called(of_call), 1u) << "a chain";
    EXPECT_EQ(remote.all[0]->served(of_lend), 0u);
}

TEST(lent, a_scatter_lends_each_member_its_region) {
    Receivers members(3, "shm://");
    std::vector<std::vector<std::byte>> parts;
    for (std::uint64_t i = 0; i < 3; ++i) parts.push_back(lent_pattern(10 + i));
    std::map<Rank, bulk::Region> regions;
    for (Rank rank = 0; rank < 3; ++rank) regions[rank] = bulk::Region::expose(ConstBytes(parts[rank])).value();
    const auto reached = sync_wait(members.all[0]->group->scatter_bulk(load_all, {}, regions, lent_options()));
    ASSERT_TRUE(reached.ok());
    EXPECT_TRUE(reached->all());
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(support::holds_pattern(members.all[i]->memory, 10 + i));
    EXPECT_EQ(members.all[0]->served(of_lend), 2u * 2u);
}

// Calls a member by hand, says that it lends the memory, and gives chunks if it is asked for them.
class LyingLender : public testing::Test {
  protected:
    LyingLender() {
        const auto give = [this](hl::Request<ChunkRequest> asked) -> Task<Result<ChunkAnswer>> {
            ++chunks_;
            const bulk::Region chunk = region_.slice(asked->offset, asked->memory.size());
            auto pushing = asked->memory.push(chunk);
            const Result<std::uint64_t> pushed = co_await pushing;
            if (!pushed) co_return pushed.error();
            co_return ChunkAnswer{};
        };
        liar_.serve(chunk_rpc, give).value();
        support::fill_pattern(region_.contiguous(), 7);
    }
    [[nodiscard]] bulk::Region piece_of(const LendRequest& asked) const {
        return region_.slice(asked.offset, asked.bytes);
    }
    // Calls the member back.
    [[nodiscard]] Task<Result<void>> lend(std::uint64_t key, bulk::Region memory, Addr to,
                                          std::optional<Microseconds> deadline = {}) {
        const LentPiece piece{key, Bulk(std::move(memory), na::Access::read)};
        hl::CallOptions options;
        options.deadline = deadline;
        auto call = liar_.call(lent_rpc, to, piece, options);
        co_return co_await call;
    }
    [[nodiscard]] Result<TreeAnswer> deliver(Microseconds deadline = 10s) {
        const Addr to = liar_.lookup(member_.node->address()).value();
        const group::ViewRequest whole{"group", 0};
        TreeRequest request;
        request.group = liar_.call(group::view_rpc, to, whole, 5s).wait().value().group;
        request.to = 0;
        request.incarnation = 1;
        request.id = {77, ++calls_};
        request.rpc = load_all.name().id;
        request.shape = rpc::shape_of<rpc::Empty>();
        (void)group::detail::encode_into(request.input, rpc::Empty{});
        request.terms.way = group::Way::to_members;
        request.terms.window = 4;
        request.terms.chunk_bytes = 256 << 10;
        request.terms.bytes = lent_bytes;
        request.terms.ticket = 99;
        request.terms.lends = true;
        return liar_.call(group::tree_rpc, to, request, deadline).wait();
    }
    void expect_received() {
        const Result<TreeAnswer> answer = deliver();
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        EXPECT_EQ(answer->count, 1u);
        EXPECT_TRUE(support::holds_pattern(member_.memory, 7));
    }

    Receiver member_{"shm://", {}};
    std::atomic<unsigned> chunks_{0};
    std::uint64_t calls_ = 0;
    Node liar_ = Node::listen("shm://").value();
    bulk::Region region_ = liar_.allocate(lent_bytes).value();
};

TEST_F(LyingLender, one_that_lends_indeed_gives_no_chunk) {
    const auto honest = [this](hl::Request<LendRequest> asked) -> Task<Result<void>> {
        auto lending = lend(asked->key, piece_of(*asked), asked.source());
        co_return co_await lending;
    };
    liar_.serve(lend_rpc, honest).value();
    expect_received();
    EXPECT_EQ(chunks_.load(), 0u);
}

TEST_F(LyingLender, one_that_does_not_lend_is_asked_for_chunks) {
    expect_received();
    EXPECT_GT(chunks_.load(), 0u) << "it knows nothing of pieces";
    chunks_ = 0;
    liar_.serve(lend_rpc, [](const LendRequest&) {}).value();
    std::fill(member_.memory.begin(), member_.memory.end(), std::byte{0});
    expect_received();
    EXPECT_GT(chunks_.load(), 0u) << "it says that it has lent them";
}

TEST_F(LyingLender, a_key_is_good_for_one_piece_of_its_size) {
    std::atomic<Errc> too_short{Errc::ok};
    std::atomic<Errc> again{Errc::ok};
    const auto lying = [&](hl::Request<LendRequest> asked) -> Task<Result<void>> {
        auto shorter = lend(asked->key, region_.slice(0, 4096), asked.source());
        too_short = (co_await shorter).code();
        auto whole = lend(asked->key, piece_of(*asked), asked.source());
        again = (co_await whole).code();
        co_return Result<void>();
    };
    liar_.serve(lend_rpc, lying).value();
    expect_received();
    EXPECT_EQ(too_short.load(), Errc::invalid_argument);
    EXPECT_EQ(again.load(), Errc::not_found);
    EXPECT_GT(chunks_.load(), 0u);
}

// Copies are stopped at any moment, or not at all: in each case what follows is right.
TEST_F(LyingLender, a_piece_that_is_taken_back_while_it_is_copied_is_got_by_chunks) {
    std::atomic<int> span{0};
    const auto hasty = [&](hl::Request<LendRequest> asked) -> Task<Result<void>> {
        auto lending = lend(asked->key, piece_of(*asked), asked.source(), Microseconds(span.load()));
        (void)co_await lending;
        co_return Result<void>();
    };
    liar_.serve(lend_rpc, hasty).value();
    for (const int each : {1, 50, 100, 200, 400, 800, 1600}) {
        span = each;
        std::fill(member_.memory.begin(), member_.memory.end(), std::byte{0});
        expect_received();
    }
}

TEST_F(LyingLender, one_that_stays_silent_is_waited_for_no_longer_than_its_call) {
    const auto silent = [this](const LendRequest&) -> Task<Result<void>> {
        (void)co_await liar_.sleep_for(60s);
        co_return Errc::again;
    };
    liar_.serve(lend_rpc, silent).value();
    EXPECT_EQ(deliver(500ms).code(), Errc::timed_out);
    // The member's handler ends at the same deadline.
    for (int i = 0; i < 1000 && member_.outcome.load() == Errc::ok; ++i) (void)liar_.run_for(10ms);
    EXPECT_EQ(member_.outcome.load(), Errc::timed_out);
}

}  // namespace
}  // namespace cinnabar::test
