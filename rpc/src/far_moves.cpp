// SPDX-License-Identifier: BSD-3-Clause
#include "far_moves.hpp"

#include "context_core.hpp"

#include <cinnabar/base/bytes.hpp>

namespace cinnabar::rpc {
namespace {

// {u64 offset, u8 direction, 8 bytes of key}, then the descriptor of the window.
constexpr std::uint8_t owner_pushes = 1;
constexpr std::uint8_t owner_pulls = 2;

}  // namespace

Errc FarMoves::write(Call& call, const bulk::OwnerMove& move, std::size_t& bytes) noexcept {
    const bool pull = move.direction == bulk::Direction::pull;
    Writer writer(call.input_room());
    writer.u64(move.offset);
    writer.u8(pull ? owner_pushes : owner_pulls);
    writer.bytes(move.key);
    const Errc lent = call.lend(move.window, pull ? na::Access::write : na::Access::read, writer);
    bytes = writer.size();
    return lent;
}

Errc FarMoves::begin(bulk::OwnerMove& move) noexcept {
    if (move.key.size() != bulk::far_key_bytes) return Errc::protocol;
    Errc why = Errc::ok;
    Call* const call = core_.facade->make_call(move.peer->addr(), why);
    if (!call) return why == Errc::overloaded ? Errc::again : why;
    call->args.rpc = far_move_id;
    call->args.deadline = move.deadline;
    std::size_t bytes = 0;
    why = write(*call, move, bytes);
    if (why == Errc::ok) {
        move.call = call->id();
        move.by = this;
        why = call->forward(bytes, &on_done, &move);
    }
    if (why == Errc::ok) return Errc::ok;
    move.call = 0;
    call->release();
    return why == Errc::overloaded ? Errc::again : why;
}

void FarMoves::cancel(bulk::OwnerMove& move) noexcept {
    if (move.call != 0) core_.facade->cancel(move.call);
}

void FarMoves::on_done(Call& call, void* user) noexcept {
    auto& move = *static_cast<bulk::OwnerMove*>(user);
    ContextCore& core = static_cast<FarMoves*>(move.by)->core_;
    move.result = call.result() == Errc::no_such_rpc ? Errc::permission : call.result();
    call.release();
    move.over.user = &move;
    move.over.run = [](Work& work) noexcept {
        auto& moved = *static_cast<bulk::OwnerMove*>(work.user);
        moved.call = 0;
        moved.done(moved);
    };
    core.run_owned(move.over);
}

namespace {

// A chunk that this side, the owner, moves. It ends when both serve() and the transfer are done with it.
struct ServedMove : bulk::FarLender::Use {
    ServedMove(Request& of, bulk::FarLender& from) noexcept : request(of), lender(from) {}
    Request& request;
    bulk::FarLender& lender;
    bulk::RemoteRegion window;
    std::atomic<bulk::Transfer*> transfer{nullptr};
    std::atomic<bool> stopped{false};
    std::atomic<int> halves{0};
    Errc result = Errc::ok;

    void stop_transfer() noexcept {
        if (bulk::Transfer* const moving = transfer.load()) request.context().mover().cancel_soon(*moving);
    }
    void half_over() noexcept {
        if (halves.fetch_add(1, std::memory_order_acq_rel) == 1) over();
    }
    void over() noexcept;
};

void ServedMove::over() noexcept {
    lender.end(*this);
    if (bulk::Transfer* const moved = transfer.load()) request.context().mover().release(*moved);
    // This side took the lease back, so the peer sees it as no longer lent.
    if (result == Errc::canceled && stopped.load()) result = Errc::permission;
    result == Errc::ok ? request.respond(0) : request.respond_error(result);
    request.release();
    delete this;
}

Errc parse(Request& request, std::uint64_t& key, std::uint64_t& offset, std::uint8_t& direction,
           bulk::RemoteRegion& window) noexcept {
    Reader reader(request.input());
    offset = reader.u64();
    direction = reader.u8();
    key = reader.u64();
    if (!reader.ok() || (direction != owner_pushes && direction != owner_pulls)) return Errc::protocol;
    if (const Errc bad = bulk::RemoteRegion::decode(reader, window); bad != Errc::ok) return bad;
    // Far memory cannot be such a window: moving it would take a call in return.
    if (reader.left() != 0 || window.empty() || !window.key_for(bulk::far_scheme).empty()) return Errc::protocol;
    return window.own();
}

Errc start(ServedMove& serving, std::uint8_t direction) noexcept {
    bulk::TransferArgs args;
    args.direction = direction == owner_pushes ? bulk::Direction::push : bulk::Direction::pull;
    args.remote = &serving.window;
    args.local = serving.memory;
    args.bytes = serving.window.bytes();
    const auto done = [](bulk::Transfer& transfer, void* user) noexcept {
        auto& moved = *static_cast<ServedMove*>(user);
        moved.result = transfer.result();
        moved.half_over();
    };
    Errc why = Errc::ok;
    bulk::Transfer* const started = serving.request.transfer(args, done, &serving, nullptr, why);
    if (!started) return why;
    serving.transfer.store(started);
    if (serving.stopped.load()) serving.stop_transfer();
    return Errc::ok;
}

void refuse(Request& request, Errc why) noexcept {
    request.respond_error(why);
    request.release();
}

void serve(Request& request, void* target) noexcept {
    auto& lender = *static_cast<bulk::FarLender*>(target);
    request.detach();
    auto* const serving = new (std::nothrow) ServedMove(request, lender);
    if (!serving) return refuse(request, Errc::out_of_memory);
    std::uint64_t key = 0;
    std::uint64_t offset = 0;
    std::uint8_t direction = 0;
    serving->stop = [](bulk::FarLender::Use& use) noexcept {
        auto& stopped = static_cast<ServedMove&>(use);
        stopped.stopped.store(true);
        stopped.stop_transfer();
    };
    Errc refused = parse(request, key, offset, direction, serving->window);
    const na::Access access = direction == owner_pushes ? na::Access::read : na::Access::write;
    if (refused == Errc::ok) refused = lender.begin(key, offset, serving->window.bytes(), access, *serving);
    if (refused != Errc::ok) {
        delete serving;
        return refuse(request, refused);
    }
    if (const Errc why = start(*serving, direction); why != Errc::ok) {
        serving->result = why;
        serving->half_over();  // there is no transfer whose end to wait for
    }
    serving->half_over();
}

}  // namespace

Handler far_move_handler(std::shared_ptr<bulk::FarLender> lender) {
    Handler handler;
    handler.name = far_move_name;
    handler.run = &serve;
    handler.target = std::move(lender);
    handler.by_key = true;
    return handler;
}

}  // namespace cinnabar::rpc
