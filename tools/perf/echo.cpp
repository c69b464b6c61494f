// SPDX-License-Identifier: BSD-3-Clause
#include "perf/echo.hpp"

#include "perf/clock.hpp"
#include "perf/protocol.hpp"

#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/request.hpp>

#include <poll.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <memory>

namespace cinnabar::tools::perf {
namespace {

// Answers with the request's bytes; with one bit flipped if `corrupt`.
void answer(rpc::Request& request, bool corrupt) noexcept {
    const ConstBytes input = request.input();
    Bytes room = request.output_room();
    if (room.size() < input.size()) {
        if (const Errc refused = request.grow_output(input.size(), room); refused != Errc::ok) {
            request.respond_error(refused);
            return;
        }
    }
    if (!input.empty()) std::memcpy(room.data(), input.data(), input.size());
    if (corrupt && !input.empty()) room[input.size() / 2] ^= std::byte{0x10};
    request.respond(input.size());
}

void run_echo(rpc::Request& request, void*) noexcept {
    answer(request, false);
    request.release();
}

// An echo with injected faults.
struct FaultyEcho {
    explicit FaultyEcho(const Faults& wanted) : faults(wanted) {}

    const Faults faults;
    const std::uint64_t began_ns = now_ns();
    std::atomic<std::uint64_t> calls{0};

    [[nodiscard]] static bool nth(std::uint64_t number, std::uint64_t every) noexcept {
        return every > 0 && number % every == 0;
    }
    // Blocks the thread that drives the context, as if waiting for a disk. The stall is at the end of each period, so
    // that no client connects during it.
    void stall() const noexcept {
        const auto every = static_cast<std::uint64_t>(faults.stall_every.count()) * 1'000'000;
        if (every == 0) return;
        const std::uint64_t into = (now_ns() - began_ns) % every;
        const auto span = static_cast<std::uint64_t>(faults.stall.count()) * 1'000'000;
        if (into + span >= every) (void)::poll(nullptr, 0, static_cast<int>((every - into) / 1'000'000 + 1));
    }
    static void run(rpc::Request& request, void* target) noexcept {
        auto& self = *static_cast<FaultyEcho*>(target);
        const std::uint64_t number = self.calls.fetch_add(1, std::memory_order_relaxed) + 1;
        if (self.faults.die_after > 0 && number > self.faults.die_after) (void)::raise(SIGKILL);
        self.stall();
        if (nth(number, self.faults.drop_every)) {
            // Holds the request until the client gives up.
            request.detach();
            request.on_cancel([](rpc::Request& dropped, void*) noexcept { dropped.release(); }, nullptr);
            return;
        }
        answer(request, nth(number, self.faults.corrupt_every));
        request.release();
    }
};

}  // namespace

Result<void> serve_echo(rpc::Engine& engine, const Faults& faults) {
    rpc::Handler handler;
    handler.name = echo_name;
    if (faults.any()) {
        handler.target = std::make_shared<FaultyEcho>(faults);
        handler.run = &FaultyEcho::run;
    } else {
        handler.run = &run_echo;
    }
    return engine.serve(echo_id, 0, handler);
}

}  // namespace cinnabar::tools::perf
