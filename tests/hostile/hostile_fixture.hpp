// SPDX-License-Identifier: BSD-3-Clause
// A server and an honest client of it on the same thread, for tests that add hostile peers.
#pragma once

#include "../rpc/rpc_fixture.hpp"
#include "behaviours.hpp"
#include "pull_handler.hpp"
#include "support/sanitizers.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::rpc {

inline constexpr std::size_t pulled_bytes = 300'000;
inline constexpr std::size_t large_bytes = 200'000;

class HostileTest : public RpcTest {
  protected:
    HostileTest() {
        options_.context.initial_credits = 8;  // also for hostile peers that never read of more
        options_.requests_held_max = 256;
        options_.credits_per_peer_max = 64;
        options_.argument_bytes_max = 8u << 20;
        options_.large_bytes_max = 32u << 20;
        options_.stall_max = options_.result_kept_max = options_.bulk.stall_max = patience;
        options_.recall_answer_max = patience;
        options_.bulk.inflight_bytes_max = 16u << 20;
        options_.bulk.peer_inflight_bytes_max = 4u << 20;
    }
    void TearDown() override {
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

    static constexpr std::chrono::seconds honest_limit{15};
    static constexpr std::chrono::milliseconds patience{support::thread_sanitizer ? 3000 : 1000};
    // A small message in each direction; a large lent one, which the handler pulls; large arguments.
    void call_echo(Ending& ending) { (void)send("echo", "hello", ending, honest_limit); }
    void call_pulled(Ending& ending) {
        Call* const call = make("pulled", honest_limit);
        ByteWriter writer(call->input_room());
        ASSERT_EQ(call->lend(lent_, na::Access::read, writer), Errc::ok);
        ASSERT_EQ(call->forward(writer.size(), &Ending::take, &ending), Errc::ok);
    }
    void call_large(Ending& ending) {
        Call* const call = make("answered", honest_limit);
        Bytes room;
        ASSERT_EQ(call->grow_input(large_bytes, room), Errc::ok);
        ASSERT_EQ(call->forward(large_bytes, &Ending::take, &ending), Errc::ok);
    }
    // The transport of a rude peer: the target's own if the network is one process, otherwise that of another process.
    [[nodiscard]] std::shared_ptr<na::Transport> rude_transport(unsigned number) {
        if (network_.one_process()) return target_.transport;
        return network_.open("rude" + std::to_string(number), {.listen = false}).value();
    }
    [[nodiscard]] na::ContextId rude_context(unsigned number) const {
        return static_cast<na::ContextId>(network_.one_process() ? 10 + number : 0);
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(pulled_bytes);
    bulk::Region lent_ = *bulk::Region::expose(Bytes(memory_), na::Access::read);
    std::deque<Request*> held_;
};

}  // namespace cinnabar::rpc
