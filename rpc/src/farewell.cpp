// SPDX-License-Identifier: BSD-3-Clause
// A context that closes lets go out what it has accepted: one-way calls, whose caller has nothing to wait for, and
// answers. A message that the transport has sent may still lie in buffers that go with the connection, so a target of
// one-way calls is sent a ping: its acknowledgement says that it has everything before that.
#include "context_core.hpp"

namespace cinnabar::rpc {
namespace {

constexpr Microseconds round_max{1'000};
constexpr int rounds_simulated = 1'000;  // a simulated clock stands while others are not driven

}  // namespace

void ContextCore::let_leave() noexcept {
    if (options.leave_max.count() == 0) return;
    while (na->trigger(64) != 0) {  // requests that came go to their handlers
    }
    const TimeUs until = after(na->clock().now_us(), options.leave_max);
    drive_while(until, [this] { return anything_to_leave(); });
    ask_for_receipts();
    drive_while(until, [this] { return awaits_receipts(); });
}

template <typename F>
void ContextCore::drive_while(TimeUs until, F&& left) noexcept {
    const auto& transports = engine.transports();
    const bool simulated = std::any_of(transports.begin(), transports.end(), [](const auto& t) { return t->clock(); });
    for (int rounds = 0; !simulated || rounds < rounds_simulated; ++rounds) {
        {
            const na::Context::Ownership ownership(*na);
            if (!left() || na->clock().now_us() >= until) return;
        }
        (void)na->progress(round_max);
        while (na->trigger(64) != 0) {
        }
    }
}

bool ContextCore::anything_to_leave() noexcept {
    const auto ports = na->ports();
    bool any = std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port->holds_unsent(); });
    calls.for_each([&any](const Call& call) {
        if (call.phase_.load() == Call::Phase::outside || !call.args.one_way) return;
        any |= call.state_ != Call::State::ended;
    });
    requests.for_each([&any](const Request& request) {
        if (request.one_way_ || request.orphaned_ || !request.answered()) return;
        any |= !request.reply_done_ || request.lend_;
    });
    return any;
}

void ContextCore::ask_for_receipts() noexcept {
    const na::Context::Ownership ownership(*na);
    books.for_each([this](PeerBook& book) {
        if (book.peer && book.one_way_sent) send_control(book, {ControlType::ping, 0, 0});
    });
}

bool ContextCore::awaits_receipts() noexcept {
    bool any = false;
    books.for_each([&any](const PeerBook& book) {
        if (!book.peer || !book.open || !book.one_way_sent || book.leaving == Leaving::gone) return;
        any |= book.control_unacked || book.control_message || !book.control.empty();
    });
    return any;
}

}  // namespace cinnabar::rpc
