// SPDX-License-Identifier: BSD-3-Clause
// An honest client beside a hostile one: its calls, transfers and large arguments end well while the other does its
// worst, and everything that the other held is free when it is gone.
#include "../rpc/rpc_fixture.hpp"
#include "behaviours.hpp"

#include <algorithm>
#include <deque>

namespace cinnabar::rpc {
namespace {

constexpr unsigned rude_peers = 3;
constexpr unsigned steps = 60;
constexpr std::size_t pulled_bytes = 300'000;
constexpr std::size_t large_bytes = 200'000;

// What a handler needs while it pulls what it was lent.
struct Pull {
    Request* request = nullptr;
    bulk::RemoteRegion remote;
    std::vector<std::byte> memory;
    bulk::Region local;
};

void pulled(bulk::Transfer& ended, void* user) noexcept {
    const std::unique_ptr<Pull> pull(static_cast<Pull*>(user));
    const Errc result = ended.result();
    pull->request->context().mover().release(ended);
    if (result == Errc::ok) {
        pull->request->respond(0);
    } else {
        pull->request->respond_error(result);
    }
    pull->request->release();
}

void begin_pull(Request& request) {
    auto pull = std::make_unique<Pull>();
    Reader reader(request.input());
    Errc why = bulk::RemoteRegion::decode(reader, pull->remote);
    if (why == Errc::ok) why = pull->remote.own();
    if (why == Errc::ok) {
        pull->request = &request;
        pull->memory.resize(pull->remote.bytes());
        pull->local = *bulk::Region::expose(Bytes(pull->memory), na::Access::read_write);
        request.detach();
        bulk::TransferArgs args;
        args.remote = &pull->remote;
        args.local = pull->local;
        args.bytes = pull->remote.bytes();
        if (request.transfer(args, pulled, pull.get(), nullptr, why)) return (void)pull.release();
    }
    request.respond_error(why);
    request.release();
}

class Hostile : public RpcTest {
  protected:
    Hostile() {
        options_.requests_held_max = 256;
        options_.credits_per_peer_max = 64;
        options_.argument_bytes_max = 8u << 20;
        options_.overflow_bytes_max = 32u << 20;
        options_.stall_max = options_.result_kept_max = options_.bulk.stall_max = std::chrono::milliseconds(300);
        options_.recall_answer_max = std::chrono::milliseconds(300);
    }
    void TearDown() override {
        rude_.clear();
        held_.clear();
        RpcTest::TearDown();
    }

    void serve_all() {
        serve_echo();
        serve("pulled", begin_pull);
        serve("answered", [](Request& request) {
            request.respond(0);
            request.release();
        });
        serve("held", [this](Request& request) { held_.push_back(&request); });
        serve("large result", [](Request& request) {
            Bytes room;
            if (const Errc failed = request.grow_output(1u << 20, room); failed != Errc::ok) {
                request.respond_error(failed);
            } else {
                request.respond(room.size());
            }
            request.release();
        });
    }
    void release_some() {
        while (held_.size() > 8) {
            held_.front()->respond(0);
            held_.front()->release();
            held_.pop_front();
        }
    }
    void release_all() {
        for (Request* request : held_) {
            request->respond(0);
            request->release();
        }
        held_.clear();
    }

    // One more of each kind of call.
    void call_honestly() {
        constexpr std::chrono::seconds limit(15);
        endings_.emplace_back();
        (void)send("echo", "hello", endings_.back(), limit);
        endings_.emplace_back();
        Call* call = make("pulled", limit);
        Writer writer(call->input_room());
        ASSERT_EQ(call->lend(lent_, na::Access::read, writer), Errc::ok);
        ASSERT_EQ(call->forward(writer.size(), &Ending::take, &endings_.back()), Errc::ok);
        endings_.emplace_back();
        call = make("answered", limit);
        Bytes room;
        ASSERT_EQ(call->grow_input(large_bytes, room), Errc::ok);
        ASSERT_EQ(call->forward(large_bytes, &Ending::take, &endings_.back()), Errc::ok);
    }
    void meet_rude_peers() {
        for (unsigned i = 0; i < rude_peers; ++i) {
            rude_.push_back(rude_peer(i));
            rude_.back()->meet(to_);
            (void)rude_.back()->request(hostile::answered, {});  // the first message dials
        }
        ASSERT_TRUE(until([&] {
            for (auto& rude : rude_) rude->look();
            return std::ranges::all_of(rude_, [](const auto& rude) { return rude->connected(); });
        }));
    }
    // On a network of one process a context of its own, else a process.
    [[nodiscard]] std::unique_ptr<hostile::RudePeer> rude_peer(unsigned number) {
        if (network_.one_process()) {
            return std::make_unique<hostile::RudePeer>(target_.transport, static_cast<na::ContextId>(10 + number));
        }
        auto transport = network_.open("rude" + std::to_string(number), {.listen = false}).value();
        return std::make_unique<hostile::RudePeer>(std::move(transport), na::ContextId{0});
    }
    void survive(const char* behaviour);

    [[nodiscard]] bool all_ended() const {
        return std::ranges::all_of(endings_, [](const Ending& ending) { return ending.count == 1; });
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(pulled_bytes);
    bulk::Region lent_ = *bulk::Region::expose(Bytes(memory_), na::Access::read);
    std::deque<Ending> endings_;
    std::deque<Request*> held_;
    std::vector<std::unique_ptr<hostile::RudePeer>> rude_;
};

// The honest client's calls end well, all of them, while three such peers do their worst.
void Hostile::survive(const char* name) {
    const auto behaviour = std::ranges::find(hostile::behaviours(), std::string_view(name), &hostile::Behaviour::name);
    ASSERT_NE(behaviour, hostile::behaviours().end());
    log_.allow("");  // it says what strangers do
    serve_all();
    call_honestly();
    ASSERT_TRUE(until([&] { return all_ended(); })) << "before anybody was rude";
    meet_rude_peers();
    for (unsigned step = 1; step <= steps; ++step) {
        for (auto& rude : rude_) {
            if (rude->connected()) behaviour->step(*rude, step);
            if (behaviour->reads) rude->look();
        }
        if (step % 3 == 0) call_honestly();
        pump();
        release_some();
    }
    ASSERT_TRUE(until([&] {
        release_all();
        return all_ended();
    })) << "honest calls stand still";
    for (const Ending& ending : endings_) ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);

    rude_.clear();
    EXPECT_TRUE(until([&] {
        release_all();
        const Context::Counts left = target_.context->counts();
        return left.requests == 0 && left.overflow_bytes == 0 && left.transfers == 0 && left.loans == 0;
    })) << "what the rude peers held is not free";
    call_honestly();
    EXPECT_TRUE(until([&] { return all_ended(); })) << "afterwards";
    EXPECT_EQ(endings_.back().result, Errc::ok);
}

TEST_P(Hostile, FloodsUnread) { survive("FloodsUnread"); }
TEST_P(Hostile, AsksForEverything) { survive("AsksForEverything"); }
TEST_P(Hostile, IsHungryThenSilent) { survive("IsHungryThenSilent"); }
TEST_P(Hostile, SendsNoFrames) { survive("SendsNoFrames"); }
TEST_P(Hostile, LiesInControl) { survive("LiesInControl"); }
TEST_P(Hostile, PingsWithoutEnd) { survive("PingsWithoutEnd"); }
TEST_P(Hostile, CancelsWhatIsNotThere) { survive("CancelsWhatIsNotThere"); }
TEST_P(Hostile, CancelsWhatItAsks) { survive("CancelsWhatItAsks"); }
TEST_P(Hostile, FetchesNoResults) { survive("FetchesNoResults"); }
TEST_P(Hostile, LendsAndIsSilent) { survive("LendsAndIsSilent"); }
TEST_P(Hostile, SendsOneWay) { survive("SendsOneWay"); }

CINNABAR_OVER_ALL(Hostile);

}  // namespace
}  // namespace cinnabar::rpc
