// SPDX-License-Identifier: BSD-3-Clause
#include "slow_server.hpp"

#include <deque>

namespace cinnabar::bench {
namespace {

constexpr std::size_t at_a_time = 8;
constexpr std::uint32_t held_max = 64;
constexpr TimeUs service_us = 100;
constexpr Microseconds no_wait{0};

class SlowHandlers {
  public:
    static void run(rpc::Request& request, void* target) noexcept {
        auto& self = *static_cast<SlowHandlers*>(target);
        request.detach();
        self.waiting_.push_back(&request);
    }

    // Answers requests that are due, and starts waiting requests unless they are no longer wanted.
    void look(TimeUs now) {
        while (!running_.empty() && running_.front().until <= now) {
            auto& request = *running_.front().request;
            running_.pop_front();
            request.respond(0);
            request.release();
        }
        while (running_.size() < at_a_time && !waiting_.empty()) {
            auto& request = *waiting_.front();
            waiting_.pop_front();
            if (request.canceled()) {
                request.release();
            } else {
                running_.push_back({&request, now + service_us});
            }
        }
    }

  private:
    struct Running {
        rpc::Request* request;
        TimeUs until;
    };
    std::deque<rpc::Request*> waiting_;
    std::deque<Running> running_;  // ordered by their ends
};

}  // namespace

void serve_slowly(PartnerSide& side) {
    rpc::Options options;
    options.requests_held_max = held_max;
    RpcEndpoint endpoint{true, options};
    const auto handlers = std::make_shared<SlowHandlers>();
    rpc::Handler handler;
    handler.run = &SlowHandlers::run;
    handler.target = handlers;
    handler.name = "bench.slow";
    endpoint.engine().serve(slow_id, 0, handler).value();
    side.announce(endpoint.address());
    while (side.wait_slice()) {
        while (side.running()) {
            endpoint.context().progress(no_wait);
            endpoint.context().trigger(64);
            handlers->look(endpoint.context().now_us());
        }
        side.end_slice();
    }
}

}  // namespace cinnabar::bench
