// SPDX-License-Identifier: BSD-3-Clause
// Hostile peers that make bulk calls by hand.
#include "bulk_group.hpp"
#include "offers.hpp"

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/serve.hpp>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::chunk_rpc;
using group::ChunkRequest;
using group::Terms;
using group::TreeRequest;
using Memory = std::vector<std::byte>;

constexpr std::uint32_t chunk_size = 4096;

class BulkLiar : public testing::Test {
  protected:
    BulkGroup group_{3, 41, {.host_bytes_per_us = 1000}};
    Node liar_ = Node::listen(group_.all.uri("bulk_liar")).value();
    Memory own_ = Memory(std::size_t{64} * chunk_size);

    [[nodiscard]] Addr at(group::Rank rank) { return liar_.lookup("sim://m" + std::to_string(rank)).value(); }
    [[nodiscard]] TreeRequest call_of_load(std::uint64_t number) {
        const group::ViewRequest whole{"group", 0};
        TreeRequest request;
        request.group = liar_.call(group::view_rpc, at(0), whole, 1s).wait().value().group;
        request.to = 0;
        request.incarnation = 1;
        request.id = {77, number};
        request.rpc = load.name().id;
        request.shape = rpc::shape_of<std::uint64_t>();
        (void)group::detail::encode_into(request.input, number);
        request.terms = {group::Way::to_members, false, 4, chunk_size, own_.size(), 99};
        return request;
    }
    [[nodiscard]] ChunkRequest chunk_of(std::uint64_t ticket, std::uint64_t offset, std::size_t bytes = chunk_size) {
        ChunkRequest request;
        request.ticket = ticket;
        request.total = own_.size();
        request.offset = offset;
        request.memory = Bulk(region_of(own_).slice(0, bytes), na::Access::write);
        return request;
    }
    [[nodiscard]] Errc ask(const ChunkRequest& request) {
        return liar_.call(chunk_rpc, at(0), request, 1s).wait().code();
    }
    void expect_all_well() {
        Memory memory = pattern(10 * chunk_size, 5);
        group::BulkOptions options;
        options.call.deadline = 10s;
        options.chunk_bytes = chunk_size;
        const auto reached = sync_wait(group_.all[1].group->broadcast_bulk(load, 5, region_of(memory), options));
        EXPECT_TRUE(reached->all());
        for (std::size_t i = 0; i < 3; ++i) group_.expect_received(i, 5, memory);
    }
};

TEST_F(BulkLiar, who_has_no_ticket_gets_nothing) {
    EXPECT_EQ(ask(chunk_of(1, 0)), Errc::not_found);
    const group::LendRequest piece{1, own_.size(), 0, chunk_size, 2};
    EXPECT_EQ(liar_.call(group::lend_rpc, at(0), piece, 1s).wait().code(), Errc::not_found);
    const group::LentPiece unasked{3, Bulk(region_of(own_), na::Access::read)};
    EXPECT_EQ(liar_.call(group::lent_rpc, at(0), unasked, 1s).wait().code(), Errc::not_found);
    expect_all_well();
}

TEST_F(BulkLiar, terms_that_cannot_be_are_refused) {
    const auto refused = [&](auto spoil) {
        TreeRequest request = call_of_load(1);
        spoil(request);
        return liar_.call(group::tree_rpc, at(0), request, 1s).wait().code();
    };
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.way = static_cast<group::Way>(9); }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.chunk_bytes = 1; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.chunk_bytes = 1 << 30; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.window = 0; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.window = 255; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) { r.terms.come_back_ms = 60'001; }), Errc::protocol);
    EXPECT_EQ(refused([](TreeRequest& r) {
                  r.terms.way = group::Way::from_members;
                  r.below = {{1, 1}};
              }),
              Errc::protocol);
    expect_all_well();
}

// A caller that calls a member but has no bytes for it.
TEST_F(BulkLiar, a_caller_that_delivers_nothing_is_waited_for_no_longer_than_its_call) {
    const auto failure_of = [&](std::uint64_t number) {
        (void)liar_.call(group::tree_rpc, at(0), call_of_load(number), 2s).wait();
        group_.all.run_for(10ms);
        const auto outcome = group_.received[0]->outcome.find(number);
        return outcome == group_.received[0]->outcome.end() ? Errc::ok : outcome->second.code();
    };
    EXPECT_EQ(failure_of(1), Errc::timed_out) << "it serves no chunks";
    std::size_t asked = 0;
    const auto silent = [&](const ChunkRequest&) -> Result<group::ChunkAnswer> {
        ++asked;
        return Errc::overloaded;
    };
    liar_.serve(chunk_rpc, [&](hl::Request<ChunkRequest> r) { return silent(*r); }).value();
    EXPECT_EQ(failure_of(2), Errc::timed_out) << "it has never any room";
    EXPECT_GT(asked, 0u);
    EXPECT_LE(asked, 4u * 20u) << "and is not asked in a hurry";
    (void)liar_.withdraw(chunk_rpc);
    expect_all_well();
}

// A member that has joined, and requests chunks by hand.
class LyingTaker : public BulkLiar {
  protected:
    LyingTaker() {
        liar_.serve(group::swim_message, [this](hl::Request<group::Message> r) { answer_ping(*r, r.source()); })
            .value();
        liar_.serve(group::tree_rpc, [this](hl::Request<TreeRequest> r) { return keep(*r); }).value();
        const group::JoinRequest join{"group", group::no_rank, 4242, liar_.self_addr(), {}, 0};
        joined_ = liar_.call(group::join_rpc, at(0), join, 1s).wait().value();
        EXPECT_TRUE(sync_wait(with_deadline(group_.all[0].group->wait_for_members(4), 10s)).ok());
    }
    ~LyingTaker() override {
        (void)liar_.withdraw(group::swim_message);
        (void)liar_.withdraw(group::tree_rpc);
    }
    void answer_ping(const group::Message& ping, const Addr& source) {
        if (ping.kind != group::Kind::ping) return;
        const group::Message ack{joined_.group, group::Kind::ack, joined_.rank, 1,  ping.from,
                                 joined_.rank,  ping.sequence,    {},           {}, {}};
        liar_.call(group::swim_message, source, ack, 1s).then([](const Result<void>&) {});
    }
    // Stores the ticket, and does not answer before it is told to.
    Task<Result<group::TreeAnswer>> keep(TreeRequest request) {
        ticket_ = request.terms.ticket;
        while (!answers_) {
            const Errc slept = co_await liar_.sleep_for(10ms);
            if (slept != Errc::ok) co_return slept;
        }
        group::TreeAnswer answer;
        answer.count = 1;
        co_return answer;
    }
    group::JoinAnswer joined_;
    std::uint64_t ticket_ = 0;
    bool answers_ = false;
};

Task<void> broadcast_for_long(group::Group group, bulk::Region region, Microseconds deadline,
                              std::optional<Result<group::Reached>>& out) {
    group::BulkOptions options;
    options.call.deadline = deadline;
    options.call.tree = group::Tree::flat;
    options.chunk_bytes = chunk_size;
    auto task = group.broadcast_bulk(load, 8, region, options);
    out = co_await task;
}

TEST_F(LyingTaker, one_that_asks_without_end_gets_its_part_twice) {
    Memory memory = pattern(own_.size(), 8);
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, region_of(memory), 30s, out));
    group_.all.run_for(10ms);
    ASSERT_NE(ticket_, 0u);
    EXPECT_EQ(ask(chunk_of(ticket_, own_.size())), Errc::invalid_argument);
    EXPECT_EQ(ask(chunk_of(ticket_, own_.size() - 1)), Errc::invalid_argument);
    EXPECT_EQ(ask(chunk_of(ticket_, ~std::uint64_t{0} - 100)), Errc::invalid_argument);
    ChunkRequest other_size = chunk_of(ticket_, 0);
    other_size.total = 1;
    EXPECT_EQ(ask(other_size), Errc::invalid_argument);
    std::size_t given = 0;
    Errc last = Errc::ok;
    const std::size_t whole = own_.size();
    for (; given < 1000 && last == Errc::ok; ++given) last = ask(chunk_of(ticket_, 0, whole));
    EXPECT_EQ(last, Errc::overloaded);
    EXPECT_LE(given * whole, 2 * whole + 3 * std::size_t{group::chunk_bytes_max});
    answers_ = true;
    group_.all.run_for(1s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 4u);
    EXPECT_EQ(ask(chunk_of(ticket_, 0)), Errc::not_found) << "after the call";
}

TEST_F(LyingTaker, one_that_asks_for_pieces_without_end_is_lent_its_part_twice) {
    liar_.serve(group::lent_rpc, [](hl::Request<group::LentPiece>) {}).value();  // says that it has copied them
    Memory memory = pattern(own_.size(), 8);
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, region_of(memory), 30s, out));
    group_.all.run_for(10ms);
    ASSERT_NE(ticket_, 0u);
    const auto borrow = [&](std::uint64_t total, std::uint64_t offset, std::uint64_t bytes) {
        const group::LendRequest request{ticket_, total, offset, bytes, 7};
        return liar_.call(group::lend_rpc, at(0), request, 1s).wait().code();
    };
    const std::uint64_t whole = own_.size();
    EXPECT_EQ(borrow(whole, 0, 0), Errc::invalid_argument);
    EXPECT_EQ(borrow(whole, whole, 1), Errc::invalid_argument);
    EXPECT_EQ(borrow(whole, 1, ~std::uint64_t{0}), Errc::invalid_argument);
    EXPECT_EQ(borrow(1, 0, 1), Errc::invalid_argument);
    std::uint64_t lent = 0;
    Errc last = Errc::ok;
    for (; lent < 1000 && last == Errc::ok; ++lent) last = borrow(whole, 0, whole);
    EXPECT_EQ(last, Errc::overloaded);
    EXPECT_LE(lent * whole, 2 * whole + 3 * std::uint64_t{group::chunk_bytes_max});
    answers_ = true;
    group_.all.run_for(1s);
    EXPECT_TRUE(out && out->ok());
    EXPECT_EQ(borrow(whole, 0, whole), Errc::not_found) << "after the call";
    (void)liar_.withdraw(group::lent_rpc);
}

TEST_F(LyingTaker, memory_that_others_may_not_read_is_not_lent) {
    Memory memory = pattern(own_.size(), 8);
    const auto closed = bulk::Region::expose(Bytes(memory), na::Access::write).value();
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, closed, 30s, out));
    group_.all.run_for(10ms);
    ASSERT_NE(ticket_, 0u);
    const group::LendRequest request{ticket_, own_.size(), 0, own_.size(), 7};
    EXPECT_EQ(liar_.call(group::lend_rpc, at(0), request, 1s).wait().code(), Errc::unsupported);
    EXPECT_EQ(ask(chunk_of(ticket_, 0)), Errc::ok) << "the caller reads it";
    answers_ = true;
    group_.all.run_for(1s);
    EXPECT_TRUE(out && out->ok());
}

TEST_F(LyingTaker, one_that_never_lets_go_of_a_piece_loses_it_with_the_call) {
    const auto hold = [this](const group::LentPiece&) -> Task<Result<void>> {
        const Errc slept = co_await liar_.sleep_for(60s);
        co_return slept;
    };
    liar_.serve(group::lent_rpc, hold).value();
    Memory memory = pattern(own_.size(), 8);
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, region_of(memory), 2s, out));
    group_.all.run_for(10ms);
    ASSERT_NE(ticket_, 0u);
    std::optional<Errc> lent;
    const group::LendRequest request{ticket_, own_.size(), 0, own_.size(), 7};
    liar_.call(group::lend_rpc, at(0), request, 30s).then([&lent](const Result<void>& r) { lent = r.code(); });
    group_.all.run_for(1s);
    EXPECT_FALSE(lent.has_value()) << "it has the piece";
    group_.all.run_for(2s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 3u);
    EXPECT_TRUE(lent == Errc::not_found) << "the piece was taken back";
    (void)liar_.withdraw(group::lent_rpc);
}

TEST_F(LyingTaker, one_that_asks_for_much_at_a_time_has_sixteen_chunks) {
    Memory memory = pattern(own_.size(), 8);
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, region_of(memory), 30s, out));
    group_.all.run_for(10ms);
    // Over two connections, since one has too few credits for so many requests.
    Node second = Node::open(group_.all.uri("second_liar")).value();
    std::map<Errc, int> codes;
    const auto count = [&](const Result<group::ChunkAnswer>& answer) { ++codes[answer.code()]; };
    for (int i = 0; i < 40; ++i) {
        const ChunkRequest whole = chunk_of(ticket_, 0, own_.size());
        liar_.call(chunk_rpc, at(0), whole, 1s).then(count);
        second.call(chunk_rpc, at(0), whole, 1s).then(count);
    }
    group_.all.run_for(200ms);
    EXPECT_GE(codes[Errc::ok], 16);
    EXPECT_GT(codes[Errc::overloaded], 0);
    EXPECT_EQ(codes[Errc::ok] + codes[Errc::overloaded], 80);
    answers_ = true;
    group_.all.run_for(1s);
    EXPECT_TRUE(out && out->ok());
}

TEST_F(LyingTaker, one_that_asks_for_nothing_costs_its_own_part) {
    Memory memory = pattern(own_.size(), 8);
    std::optional<Result<group::Reached>> out;
    (void)group_.all[0].node->spawn(broadcast_for_long(*group_.all[0].group, region_of(memory), 2s, out));
    group_.all.run_for(3s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 3u);
    ASSERT_EQ((*out)->failures.size(), 1u);
    EXPECT_EQ((*out)->failures[0].code, Errc::timed_out);
}

}  // namespace
}  // namespace cinnabar::test
