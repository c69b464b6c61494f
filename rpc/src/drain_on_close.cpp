// SPDX-License-Identifier: BSD-3-Clause
// Before a context closes, it sends what it has accepted: one-way calls, for which no caller waits, and answers. A
// message that the transport has accepted may still be in a buffer that is dropped with the connection. Each target of
// one-way calls is therefore sent a ping: the acknowledgement says that the target has received everything sent before.
#include "context_core.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

constexpr Microseconds round_max{1'000};
constexpr int rounds_simulated = 1'000;  // a simulated clock stands still while other contexts are not driven

}  // namespace

class ContextCore::DrainOnClose {
  public:
    explicit DrainOnClose(ContextCore& core) noexcept : core_(core) {}

    void run() noexcept {
        if (core_.options.leave_max.count() == 0) return;
        while (core_.na->trigger(64) != 0) {  // pass requests that have arrived to their handlers
        }
        until_ = after(core_.na->clock().now_us(), core_.options.leave_max);
        drive_while([this] { return anything_to_leave(); });
        ask_for_receipts();
        drive_while([this] { return awaits_receipts(); });
    }

  private:
    template <typename F>
    void drive_while(F&& left) noexcept;
    [[nodiscard]] bool anything_to_leave() noexcept;
    void ask_for_receipts() noexcept;
    [[nodiscard]] bool awaits_receipts() noexcept;

    ContextCore& core_;
    TimeUs until_ = 0;
};

void ContextCore::let_leave() noexcept { DrainOnClose(*this).run(); }

template <typename F>
void ContextCore::DrainOnClose::drive_while(F&& left) noexcept {
    const auto& transports = core_.engine.transports();
    const bool simulated = std::any_of(transports.begin(), transports.end(), [](const auto& t) { return t->clock(); });
    for (int rounds = 0; !simulated || rounds < rounds_simulated; ++rounds) {
        {
            const na::Context::Ownership ownership(*core_.na);
            if (!left() || core_.na->clock().now_us() >= until_) return;
        }
        (void)core_.na->progress(round_max);
        while (core_.na->trigger(64) != 0) {
        }
    }
}

bool ContextCore::DrainOnClose::anything_to_leave() noexcept {
    const auto ports = core_.na->ports();
    bool any = std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port->holds_unsent(); });
    core_.origin.calls.for_each([&any](const Call& call) {
        if (call.phase_.load() == Call::Phase::outside || !call.args.one_way) return;
        any |= call.use_.state != Call::State::ended;
    });
    core_.target.requests.for_each([&any](const Request& request) {
        if (request.one_way_ || request.use_.orphaned || !request.answered()) return;
        any |= !request.use_.reply_done || request.lend_;
    });
    return any;
}

void ContextCore::DrainOnClose::ask_for_receipts() noexcept {
    const na::Context::Ownership ownership(*core_.na);
    core_.peers.books.for_each([this](PeerBook& book) {
        if (book.peer && book.one_way_sent) core_.control.send(book, {ControlType::ping, 0, 0});
    });
}

bool ContextCore::DrainOnClose::awaits_receipts() noexcept {
    bool any = false;
    core_.peers.books.for_each([&any](const PeerBook& book) {
        if (!book.peer || !book.open || !book.one_way_sent || book.leaving == Leaving::gone) return;
        any |= book.control_unacked || book.control_message || !book.control.empty();
    });
    return any;
}

}  // namespace cinnabar::rpc
