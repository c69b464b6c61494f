// SPDX-License-Identifier: BSD-3-Clause
// Starting and ending transfers: start, begin (by the owner), fail, finish, deliver; and the public functions of Mover.
#include "mover.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/far_lender.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace cinnabar::bulk {
namespace {

constexpr std::size_t remote_ends_kept_max = 1024;

MoverOptions sane(MoverOptions options) {
    options.chunk_bytes = std::max<std::uint64_t>(options.chunk_bytes, 1);
    options.window = std::clamp(options.window, 1u, transfer_window_max);
    options.chunks_max = std::clamp(options.chunks_max, 1u, SlotPool<ChunkOp>::slots_limit - PeerBooks::peers_max);
    return options;
}

// Whether the range or blocks lie inside the remote memory. May throw std::bad_alloc.
bool inside(const TransferArgs& args) {
    const std::uint64_t remote_bytes = args.remote->bytes();
    if (!args.remote_blocks)
        return args.remote_offset <= remote_bytes && args.bytes <= remote_bytes - args.remote_offset;
    const Blocks& blocks = *args.remote_blocks;
    return args.remote_offset == 0 && args.bytes == blocks.bytes() && blocks.end() <= remote_bytes &&
           (args.direction == Direction::pull || !blocks.overlap());
}

Errc check_shown(const TransferArgs& args) noexcept {
    if (args.remote || !args.connected || args.remote_offset != 0 || args.remote_blocks || args.notify)
        return Errc::invalid_argument;
    if (!args.local.is_far()) return Errc::unsupported;
    const bool pull = args.direction == Direction::pull;
    return allows(args.local.access(), pull ? na::Access::write : na::Access::read) ? Errc::ok : Errc::permission;
}

Errc check(const TransferArgs& args) noexcept {
    if (args.bytes > args.local.bytes()) return Errc::invalid_argument;
    if (args.shown) return check_shown(args);
    if (!args.remote) return Errc::invalid_argument;
    try {
        if (!inside(args)) return Errc::invalid_argument;
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    if (!args.follow_owner && !args.remote->owner().empty()) return Errc::permission;
    const bool pull = args.direction == Direction::pull;
    if (args.notify && (pull || args.bytes == 0)) return Errc::invalid_argument;
    if (!allows(args.remote->access(), pull ? na::Access::read : na::Access::write)) return Errc::permission;
    if (pull && args.bytes > 0 && !allows(args.local.access(), na::Access::write)) return Errc::permission;
    return Errc::ok;
}

// Carries out a pull of memory whose contents are in the descriptor.
void copy_contents(const TransferArgs& args) noexcept {
    const ConstBytes contents = args.remote->eager();
    if (!args.remote_blocks) return args.local.copy_in(0, contents.subspan(args.remote_offset, args.bytes));
    BlockWalk walk(*args.remote_blocks);
    BlockPiece piece;
    for (std::uint64_t done = 0; walk.next(args.bytes, piece); done += piece.bytes)
        args.local.copy_in(done, contents.subspan(piece.offset, piece.bytes));
}

}  // namespace

Mover::Impl::Impl(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports,
                  const MoverOptions& options)
    : context_(context),
      transports_(std::move(transports)),
      options_(sane(options)),
      transfers_(context.options().threads, options.transfers_max),
      pump_(*this, context, transports_, options_),
      far_(*this, context, transports_) {
    CINNABAR_ASSERT(transports_.size() == context.ports().size());
    close_work_.user = this;
    close_work_.run = &on_close;
}

Mover::Impl::~Impl() { CINNABAR_ASSERT(transfers_.taken() == 0 && !pump_.waits_for_room()); }

Transfer* Mover::Impl::start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                             TransferProgress progress, Errc& why) noexcept {
    CINNABAR_ASSERT(done);
    why = closed_.load(std::memory_order_acquire) ? Errc::closed : check(args);
    if (why != Errc::ok) return nullptr;
    TransferSlot* slot = transfers_.acquire();
    if (!slot) {
        why = Errc::overloaded;
        return nullptr;
    }
    slot->mover = this;
    slot->args = args;
    slot->done = done;
    slot->user = user;
    slot->deliver = deliver;
    slot->progress = progress;
    slot->phase = Phase::waiting;
    slot->error = Errc::ok;
    slot->copy_eager = false;
    slot->has_planned = false;
    slot->by_owner = false;
    slot->by_handle = args.shown != nullptr;
    slot->planner = Planner();
    slot->key = {};
    slot->stall_max = args.stall_max.value_or(options_.stall_max);
    slot->set_stalled(false);
    slot->set_result(Errc::ok);
    slot->set_os_errno(0);
    slot->reset_moved();
    slot->cancel_asked.store(false, std::memory_order_relaxed);
    slot->holders.store(1, std::memory_order_relaxed);
    slot->work.run = &on_begin;
    context_.run_owned(slot->work);
    return slot;
}

void Mover::Impl::on_begin(WorkItem& work) noexcept {
    TransferSlot& slot = *static_cast<TransferSlot*>(work.user);
    slot.mover->begin(slot);
}

void Mover::Impl::begin(TransferSlot& slot) noexcept {
    slot.phase = Phase::running;
    const TransferArgs& args = slot.args;
    const ConstBytes eager = args.remote ? args.remote->eager() : ConstBytes();
    if (slot.cancel_asked.load(std::memory_order_acquire) || closed_.load(std::memory_order_acquire)) {
        slot.error = Errc::canceled;
        return finish_later(slot);
    }
    if (args.deadline <= context_.now_us()) {
        slot.error = Errc::timed_out;
        return finish_later(slot);
    }
    if (args.bytes == 0) return finish_later(slot);
    if (args.direction == Direction::pull && !eager.empty()) {
        if (slot.is_far()) return far_.begin_eager_copy(slot);
        slot.copy_eager = true;
        return finish_later(slot);
    }
    try {
        slot.error = prepare(slot);
    } catch (const std::bad_alloc&) {
        slot.error = Errc::out_of_memory;
    }
    if (slot.error != Errc::ok) return finish_later(slot);
    slot.silence = {};
    watch(slot);
    pump_.make_ready(slot);
    pump_.run();
}

Errc Mover::Impl::prepare(TransferSlot& slot) {
    na::Peer* peer = nullptr;
    std::size_t port_index = 0;
    if (const Errc lost = find_way(slot, peer, port_index); lost != Errc::ok) return lost;
    if (slot.args.notify && (slot.by_owner || !transports_[port_index]->caps().put_notify)) return Errc::unsupported;
    if (!slot.by_handle) slot.by_handle = far_.may_go_by_handle(slot, *peer);
    if (!slot.is_far() && !slot.by_owner) {
        auto memory = slot.args.local.memory_on(transports_[port_index]);
        if (!memory) return memory.error().code;
        slot.memory = *memory;
    }
    plan(slot, port_index);
    const std::uint32_t chunks_max = transports_[port_index]->limits().rma_inflight_max;
    slot.book = pump_.books().join(slot, *peer, port_index,
                                   chunks_max ? chunks_max : std::numeric_limits<std::uint32_t>::max());
    return slot.book ? Errc::ok : Errc::out_of_memory;
}

// If the memory was not lent on the transport of the best route, any other transport that reaches the peer is used.
Errc Mover::Impl::find_way(TransferSlot& slot, na::Peer*& peer, std::size_t& port_index) {
    if (slot.args.shown) {
        peer = slot.args.connected;
        port_index = index_of(peer->port());
        return Errc::ok;
    }
    const RemoteRegion& remote = *slot.args.remote;
    const na::Addr& owner = slot.args.owner_at.empty() ? remote.owner() : slot.args.owner_at;
    const na::Addr& whom = remote.owner().empty() ? slot.args.peer : owner;
    na::Peer* best = remote.owner().empty() ? slot.args.connected : nullptr;
    if (!best) {
        auto found = context_.peer(whom);
        if (!found) return found.error().code;
        best = *found;
    }
    const auto ports = context_.ports();
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (ports[i].get() != &best->port()) continue;
        slot.key = remote.key_for(transports_[i]->scheme());
        peer = best;
        port_index = i;
    }
    for (std::size_t i = 0; i < ports.size() && slot.key.empty(); ++i) {
        const ConstBytes key = remote.key_for(transports_[i]->scheme());
        if (key.empty()) continue;
        if (auto other = ports[i]->peer(whom)) {
            slot.key = key;
            peer = *other;
            port_index = i;
        }
    }
    if (!slot.key.empty()) return Errc::ok;
    slot.key = remote.key_for(far_scheme);
    if (slot.key.empty() || !owner_moves_) return Errc::unreachable;
    slot.by_owner = true;
    peer = best;
    port_index = index_of(best->port());
    return Errc::ok;
}

std::size_t Mover::Impl::index_of(const na::Port& of) const noexcept {
    const auto ports = context_.ports();
    const auto found = std::find_if(ports.begin(), ports.end(), [&of](const auto& port) { return port.get() == &of; });
    return static_cast<std::size_t>(found - ports.begin());
}

void Mover::Impl::plan(TransferSlot& slot, std::size_t port_index) {
    const TransferArgs& args = slot.args;
    const na::Limits& limits = transports_[port_index]->limits();
    PlanLimits cut;
    cut.chunk_bytes =
        std::clamp<std::uint64_t>(options_.chunk_bytes, 1, std::max<std::size_t>(limits.rma_bytes_max, 1));
    cut.local_segments_max = std::max<std::size_t>(limits.op_segments_max, 1);
    cut.remote_unbroken = transports_[port_index]->caps().offset_addressing || slot.by_owner;
    if (slot.is_far()) cut.chunk_bytes = std::min(cut.chunk_bytes, FarStaging::buffer_bytes);
    if (slot.by_handle) {  // opened memory is copied as a whole
        cut.chunk_bytes = args.bytes;
        cut.remote_unbroken = true;
    }
    PlanSide local{args.local.segment_ends(), args.local.offset()};
    if (local.ends.size() <= cut.local_segments_max || slot.is_far() || slot.by_owner) local.ends = {};
    if (!local.ends.empty() && pump_.staging(port_index).prepare(transports_[port_index]) == Errc::ok) {
        cut.staging_bytes = Staging::buffer_bytes;
        cut.staging_segment_bytes = options_.staging_segment_bytes;
    }
    slot.remote_ends.clear();
    std::uint64_t end = 0;
    for (std::size_t i = 0; !cut.remote_unbroken && i < args.remote->segment_count(); ++i) {
        slot.remote_ends.push_back(end += args.remote->segment_bytes(i));
    }
    slot.planner = Planner(local, PlanSide{slot.remote_ends, args.remote_offset, args.remote_blocks}, args.bytes, cut);
}

void Mover::Impl::stage_instead(TransferSlot& slot) noexcept {
    slot.by_handle = false;
    slot.has_planned = false;
    plan(slot, slot.book->port_index);
}

void Mover::Impl::fail(TransferSlot& slot, Errc why, Recall recall) noexcept {
    if (slot.phase != Phase::running || slot.error != Errc::ok) return;
    slot.error = why;
    pump_.unready(slot);
    if (slot.is_far()) far_.drop_loaded(slot);
    if (slot.inflight_count == 0) return finish_later(slot);
    for (ChunkOp* op = slot.inflight.front(); op; op = decltype(slot.inflight)::next(*op)) {
        op->copy.drop();
        if (recall == Recall::yes) pump_.call_off(*op);
    }
}

void Mover::Impl::fail_peer(PeerBook& book, Errc why) noexcept {
    // The book is freed with its last transfer.
    for (TransferSlot* slot = book.members.front(); slot;) {
        TransferSlot* next = decltype(book.members)::next(*slot);
        fail(*slot, why);
        slot = next;
    }
}

void Mover::Impl::finish_later(TransferSlot& slot) noexcept {
    slot.phase = Phase::finishing;
    if (slot.book) pump_.books().leave(slot);
    // Arms the timer instead of queueing work: work may run as soon as the context is given up, inside start().
    context_.disarm(slot.timer);
    slot.timer.fire = &on_finish;
    context_.arm(slot.timer, context_.now_us());
}

void Mover::Impl::on_finish(WheelTimer& timer) noexcept {
    TransferSlot& slot = TimerOf<TransferSlot>::owner_of(timer);
    if (slot.copy_eager) {
        const TransferArgs& args = slot.args;
        copy_contents(args);
        slot.add_moved(args.bytes);
        if (slot.progress) slot.progress(slot, slot.moved(), slot.user);
    }
    slot.mover->finish(slot);
}

void Mover::Impl::finish(TransferSlot& slot) noexcept {
    slot.phase = Phase::delivered;
    context_.disarm(slot.timer);
    slot.set_result(slot.moved() == slot.args.bytes ? Errc::ok : slot.error);
    if (slot.book) pump_.books().leave(slot);
    slot.args = TransferArgs();
    // A descriptor may have 65,536 segments; a slot does not keep that much memory for its next use.
    if (slot.remote_ends.capacity() > remote_ends_kept_max) slot.remote_ends = {};
    if (slot.deliver == Deliver::internal) return slot.done(slot, slot.user);
    slot.work.run = &on_deliver;
    context_.enqueue(slot.work);
}

void Mover::Impl::on_deliver(WorkItem& work) noexcept {
    TransferSlot& slot = *static_cast<TransferSlot*>(work.user);
    slot.done(slot, slot.user);
}

bool Mover::Impl::prepare_cancel(TransferSlot& slot) noexcept {
    if (slot.cancel_asked.exchange(true, std::memory_order_acq_rel)) return false;
    slot.holders.fetch_add(1, std::memory_order_relaxed);
    slot.cancel_work.run = &on_cancel;
    return true;
}

void Mover::Impl::cancel(TransferSlot& slot) noexcept {
    if (prepare_cancel(slot)) context_.run_owned(slot.cancel_work);
}

void Mover::Impl::cancel_soon(TransferSlot& slot) noexcept {
    if (prepare_cancel(slot)) context_.submit(slot.cancel_work);
}

// May run before the transfer has begun (begin checks cancel_asked) or after it has ended.
void Mover::Impl::on_cancel(WorkItem& work) noexcept {
    TransferSlot& slot = *static_cast<TransferSlot*>(work.user);
    slot.mover->fail(slot, Errc::canceled);
    slot.mover->drop_holder(slot);
}

void Mover::Impl::release(TransferSlot& slot) noexcept { drop_holder(slot); }

void Mover::Impl::drop_holder(TransferSlot& slot) noexcept {
    if (slot.holders.fetch_sub(1, std::memory_order_acq_rel) == 1) transfers_.release(slot);
}

void Mover::Impl::close() noexcept {
    if (!closed_.exchange(true, std::memory_order_acq_rel)) context_.run_owned(close_work_);
}

void Mover::Impl::on_close(WorkItem& work) noexcept {
    Impl& mover = *static_cast<Impl*>(work.user);
    mover.pump_.books().for_each([&mover](PeerBook& book) { mover.fail_peer(book, Errc::canceled); });
    // Copies submit their ends to the context, which is destroyed next.
    mover.far_.await_copies();
}

Mover::Mover(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports, const MoverOptions& options)
    : impl_(std::make_unique<Impl>(context, std::move(transports), options)) {}
Mover::~Mover() = default;

Transfer* Mover::start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                       TransferProgress progress, Errc& why) noexcept {
    return impl_->start(args, done, user, deliver, progress, why);
}
void Mover::cancel(Transfer& transfer) noexcept { impl_->cancel(static_cast<TransferSlot&>(transfer)); }
void Mover::cancel_soon(Transfer& transfer) noexcept { impl_->cancel_soon(static_cast<TransferSlot&>(transfer)); }
void Mover::release(Transfer& transfer) noexcept { impl_->release(static_cast<TransferSlot&>(transfer)); }
void Mover::close() noexcept { impl_->close(); }
void Mover::peer_lost(na::Peer& peer, Errc why) noexcept {
    if (PeerBook* book = impl_->pump_.books().find(peer)) impl_->fail_peer(*book, why);
}
bool Mover::moves_with(const na::Peer& peer) const noexcept { return impl_->pump_.books().find(peer) != nullptr; }
void Mover::set_owner_moves(OwnerMoves& moves) noexcept { impl_->owner_moves_ = &moves; }
void Mover::set_count(TransferCount count) noexcept { impl_->count_ = count; }
std::uint32_t Mover::transfers() const noexcept { return impl_->transfers_.taken(); }
std::uint64_t Mover::bytes_inflight() const noexcept { return impl_->pump_.bytes_inflight(); }
const MoverOptions& Mover::options() const noexcept { return impl_->options_; }

}  // namespace cinnabar::bulk
