// SPDX-License-Identifier: BSD-3-Clause
// Both sides of moving a chunk of lent far memory: FarMoves calls the owner of the memory, and far_move_handler() makes
// the handler with which the owner moves the chunk.
#include "far_moves.hpp"

#include "origin.hpp"
#include "part_of.hpp"

#include <cinnabar/base/bytes.hpp>

#include <algorithm>
#include <new>

namespace cinnabar::rpc {
namespace {

// A request is {u64 offset, u8 direction, 8 bytes of key}. Then comes the descriptor of the window, or, with the last
// two directions, a handle of memory that the owner opens: {u64 bytes, u8 kind, u64 offset in the allocation, 64 bytes
// of the driver}.
constexpr std::uint8_t owner_pushes = 1;
constexpr std::uint8_t owner_pulls = 2;
constexpr std::uint8_t owner_writes_shown = 3;
constexpr std::uint8_t owner_reads_shown = 4;
constexpr std::uint8_t kind_cuda = 1;

void write_handle(const bulk::OwnerMove& move, ByteWriter& writer) noexcept {
    writer.u64(move.bytes);
    writer.u8(kind_cuda);
    writer.u64(move.shown->offset);
    writer.bytes(move.shown->driver);
}

Errc read_handle(ByteReader& reader, std::uint64_t& bytes, bulk::IpcHandle& handle) noexcept {
    bytes = reader.u64();
    const std::uint8_t kind = reader.u8();
    handle.kind = bulk::MemoryKind::cuda;
    handle.offset = reader.u64();
    const ConstBytes driver = reader.view(handle.driver.size());
    if (!reader.ok() || reader.left() != 0 || bytes == 0) return Errc::protocol;
    std::copy(driver.begin(), driver.end(), handle.driver.begin());
    return kind == kind_cuda ? Errc::ok : Errc::unsupported;
}

}  // namespace

Errc FarMoves::write(Call& call, const bulk::OwnerMove& move, std::size_t& bytes) noexcept {
    const bool pull = move.direction == bulk::Direction::pull;
    ByteWriter writer(call.input_room());
    writer.u64(move.offset);
    if (move.shown) {
        writer.u8(pull ? owner_writes_shown : owner_reads_shown);
    } else {
        writer.u8(pull ? owner_pushes : owner_pulls);
    }
    writer.bytes(move.key);
    if (move.shown) {
        write_handle(move, writer);
        call.shows_memory();
        bytes = writer.size();
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    const Errc lent = call.lend(move.window, pull ? na::Access::write : na::Access::read, writer);
    bytes = writer.size();
    return lent;
}

const na::Peer* FarMoves::peer_of(const Request& request) noexcept {
    const na::Peer* peer = nullptr;
    part_of<ContextBase>(request).owned([&] { peer = request.use_.orphaned ? nullptr : request.book_->peer; });
    return peer;
}

Errc FarMoves::begin(bulk::OwnerMove& move) noexcept {
    if (move.key.size() != bulk::far_key_bytes) return Errc::protocol;
    Errc why = Errc::ok;
    Call* const call = origin_.make_for_call_in_progress(move.peer->addr(), why);
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
    if (move.call != 0) base_.facade->cancel(move.call);
}

void FarMoves::on_done(Call& call, void* user) noexcept {
    auto& move = *static_cast<bulk::OwnerMove*>(user);
    ContextBase& base = static_cast<FarMoves*>(move.by)->base_;
    move.result = call.result() == Errc::no_such_rpc ? Errc::permission : call.result();
    move.let_go = call.fenced();
    call.release();
    move.over.user = &move;
    move.over.run = [](WorkItem& work) noexcept {
        auto& moved = *static_cast<bulk::OwnerMove*>(work.user);
        moved.call = 0;
        moved.done(moved);
    };
    base.run_owned(move.over);
}

namespace {

// A chunk that this side, the owner of the memory, moves. It is deleted when both serve() and the transfer have ended.
struct ServedMove : bulk::FarLender::Use {
    ServedMove(Request& of, bulk::FarLender& owner) noexcept : request(of), lender(owner) {}
    Request& request;
    bulk::FarLender& lender;
    bulk::RemoteRegion window;  // unless it is moved by handle
    bulk::IpcHandle shown;
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
    // The transfer was stopped because this side has revoked the lease, so the peer is told that the memory is no
    // longer lent.
    if (result == Errc::canceled && stopped.load()) result = Errc::permission;
    result == Errc::ok ? request.respond(0) : request.respond_error(result);
    request.release();
    delete this;
}

// The decoded request.
struct Asked {
    std::uint64_t key = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool by_handle = false;
    bulk::Direction direction = bulk::Direction::push;  // as seen from this side

    [[nodiscard]] na::Access access() const noexcept {
        return direction == bulk::Direction::push ? na::Access::read : na::Access::write;
    }
};

Errc parse_window(ByteReader& reader, Asked& asked, bulk::RemoteRegion& window) noexcept {
    if (const Errc bad = bulk::RemoteRegion::decode(reader, window); bad != Errc::ok) return bad;
    // The window cannot be far memory, because moving it would take a call in the other direction.
    if (reader.left() != 0 || window.empty() || !window.key_for(bulk::far_scheme).empty()) return Errc::protocol;
    asked.bytes = window.bytes();
    return window.own();
}

Errc parse(Request& request, Asked& asked, ServedMove& into) noexcept {
    ByteReader reader(request.input());
    asked.offset = reader.u64();
    const std::uint8_t direction = reader.u8();
    asked.key = reader.u64();
    if (!reader.ok() || direction < owner_pushes || direction > owner_reads_shown) return Errc::protocol;
    asked.by_handle = direction == owner_writes_shown || direction == owner_reads_shown;
    const bool pulls = direction == owner_pulls || direction == owner_reads_shown;
    asked.direction = pulls ? bulk::Direction::pull : bulk::Direction::push;
    if (!asked.by_handle) return parse_window(reader, asked, into.window);
    if (const Errc bad = read_handle(reader, asked.bytes, into.shown); bad != Errc::ok) return bad;
    return request.from_own_user() ? Errc::ok : Errc::unsupported;
}

Errc start(ServedMove& serving, const Asked& asked) noexcept {
    bulk::TransferArgs args;
    args.direction = asked.direction;
    if (asked.by_handle) {
        args.shown = &serving.shown;
    } else {
        args.remote = &serving.window;
    }
    args.local = serving.memory;
    args.bytes = asked.bytes;
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
    serving->stop = [](bulk::FarLender::Use& use) noexcept {
        auto& stopped = static_cast<ServedMove&>(use);
        stopped.stopped.store(true);
        stopped.stop_transfer();
    };
    Asked asked;
    serving->by = FarMoves::peer_of(request);
    serving->from = &request.source();
    Errc refused = parse(request, asked, *serving);
    if (refused == Errc::ok) refused = lender.begin(asked.key, asked.offset, asked.bytes, asked.access(), *serving);
    if (refused != Errc::ok) {
        delete serving;
        return refuse(request, refused);
    }
    if (const Errc why = start(*serving, asked); why != Errc::ok) {
        serving->result = why;
        serving->half_over();  // no transfer was started
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
