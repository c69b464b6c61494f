// SPDX-License-Identifier: BSD-3-Clause
// Transfers between bulk handles.
#include "bulk.hpp"
#include "context.hpp"
#include "errors.hpp"
#include "log.hpp"

#include <algorithm>
#include <utility>

using namespace cinnabar;
using mercury::failed;

namespace {

struct Wanted {
    hg_context_t* context;
    hg_cb_t callback;
    void* arg;
    hg_bulk_op_t op;
    na::Addr peer;
    bool follow_owner;
    na::Addr owner_at;
    hg_bulk_t origin;
    hg_size_t origin_offset;
    hg_bulk_t local;
    hg_size_t local_offset;
    hg_size_t size;
    hg_op_id_t* op_id;
};

hg_return_t check(const Wanted& wanted) {
    if (!wanted.context || !wanted.origin || !wanted.local) return HG_INVALID_ARG;
    if (wanted.op != HG_BULK_PUSH && wanted.op != HG_BULK_PULL) {
        return failed("HG_Bulk_transfer: neither a push nor a pull", HG_INVALID_ARG);
    }
    const hg_class* const owner = wanted.context->owner;
    if (wanted.origin->owner != owner || wanted.local->owner != owner) {
        return failed("HG_Bulk_transfer: handles of another class", HG_INVALID_ARG);
    }
    if (wanted.local->is_remote) return failed("HG_Bulk_transfer: the local handle is a peer's memory", HG_INVALID_ARG);
    const auto inside = [&](const hg_bulk& bulk, hg_size_t offset) {
        return offset <= bulk.bytes && wanted.size <= bulk.bytes - offset;
    };
    if (!inside(*wanted.origin, wanted.origin_offset) || !inside(*wanted.local, wanted.local_offset)) {
        return failed("HG_Bulk_transfer: offset and size are out of the bounds of a handle", HG_INVALID_ARG);
    }
    const bool pull = wanted.op == HG_BULK_PULL;
    const hg_bulk& from = pull ? *wanted.origin : *wanted.local;
    const hg_bulk& to = pull ? *wanted.local : *wanted.origin;
    if ((from.flags & HG_BULK_READ_ONLY) == 0 || (to.flags & HG_BULK_WRITE_ONLY) == 0) {
        return failed(
            "HG_Bulk_transfer: the flags of a handle (HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY) forbid this direction",
            HG_PERMISSION);
    }
    return HG_SUCCESS;
}

void drop(hg_op_id& op) {
    if (op.references.fetch_sub(1, std::memory_order_acq_rel) == 1) op.context->transfers.release(op);
}

void tell(hg_op_id& op, hg_return_t result) {
    op.told.ret = result;
    const hg_cb_info told = op.told;
    if (op.callback) (void)op.callback(&told);
    (void)HG_Bulk_free(told.info.bulk.origin_handle);
    (void)HG_Bulk_free(told.info.bulk.local_handle);
    (void)HG_Bulk_free(std::exchange(op.original, nullptr));
    drop(op);
}

void ended(bulk::Transfer& transfer, void* user) noexcept {
    hg_op_id& op = *static_cast<hg_op_id*>(user);
    const Errc result = transfer.result();
    {
        const std::lock_guard lock(op.mutex);  // waits for a cancel that is in progress
        op.ended = true;
        op.moving = nullptr;
    }
    op.context->rpc->mover().release(transfer);
    tell(op, mercury::to_hg(result));
}

// Copies between two handles of this process.
hg_return_t copy(const Wanted& wanted) {
    const bool pull = wanted.op == HG_BULK_PULL;
    const mercury::Original origin(*wanted.origin);
    const mercury::Original local(*wanted.local);
    if (!origin || !local) return failed(mercury::original_is_gone, HG_INVALID_ARG);
    const bulk::Region& from = (pull ? origin : local)->local;
    const bulk::Region& to = (pull ? local : origin)->local;
    hg_size_t from_at = pull ? wanted.origin_offset : wanted.local_offset;
    hg_size_t to_at = pull ? wanted.local_offset : wanted.origin_offset;
    // Copies to or from far memory use large pieces.
    constexpr std::size_t far_piece_bytes = 1 << 20;
    std::byte small_piece[4096];
    std::vector<std::byte> large_piece(from.is_far() || to.is_far() ? std::min(wanted.size, far_piece_bytes) : 0);
    const Bytes piece = large_piece.empty() ? Bytes(small_piece) : Bytes(large_piece);
    for (hg_size_t left = wanted.size; left != 0;) {
        const std::size_t bytes = std::min<hg_size_t>(left, piece.size());
        bulk::FarEnd end = from.load(from_at, piece.first(bytes));
        if (end.code == Errc::ok) end = to.store(to_at, piece.first(bytes));
        if (end.code != Errc::ok) return failed("HG_Bulk_transfer", end.code);
        from_at += bytes;
        to_at += bytes;
        left -= bytes;
    }
    return HG_SUCCESS;
}

void complete_at_once(hg_op_id& op) {
    op.queued.run.user = &op;
    op.queued.run.run = [](WorkItem& work) noexcept {
        hg_op_id& over = *static_cast<hg_op_id*>(work.user);
        {
            const std::lock_guard lock(over.mutex);
            over.ended = true;
        }
        tell(over, HG_SUCCESS);
    };
    op.references.store(1, std::memory_order_relaxed);
    op.queued.queue(op.context->rpc->na());
}

hg_return_t move(const Wanted& wanted, hg_op_id& op) {
    hg_bulk* memory = wanted.local;
    if (memory->original != 0) memory = op.original = mercury::keep_original(*memory);
    if (!memory) return failed(mercury::original_is_gone, HG_INVALID_ARG);
    bulk::TransferArgs args;
    args.direction = wanted.op == HG_BULK_PULL ? bulk::Direction::pull : bulk::Direction::push;
    args.remote = &wanted.origin->remote;
    args.remote_offset = wanted.origin_offset;
    args.local = memory->local.slice(wanted.local_offset, wanted.size);
    args.bytes = wanted.size;
    args.peer = wanted.peer;
    args.follow_owner = wanted.follow_owner;
    args.owner_at = wanted.owner_at;
    args.deadline = wanted.context->deadline();
    bulk::Mover& mover = wanted.context->rpc->mover();
    Errc why = Errc::ok;
    op.references.store(2, std::memory_order_relaxed);
    bulk::Transfer* const moving = mover.start(args, ended, &op, bulk::Deliver::queued, nullptr, why);
    if (!moving) {
        (void)HG_Bulk_free(std::exchange(op.original, nullptr));
        return failed("HG_Bulk_transfer", why);
    }
    {
        const std::lock_guard lock(op.mutex);
        if (!op.ended) {
            op.moving = moving;
            if (op.cancel_asked) mover.cancel(*moving);
        }
    }
    drop(op);
    return HG_SUCCESS;
}

// Operations without a network are done at once.
hg_return_t transfer(const Wanted& wanted, hg_op_id& op) {
    if (wanted.size != 0 && wanted.origin->is_remote) return move(wanted, op);
    const hg_return_t copied = wanted.size == 0 ? HG_SUCCESS : copy(wanted);
    if (copied == HG_SUCCESS) complete_at_once(op);
    return copied;
}

hg_return_t start(const Wanted& wanted) {
    if (const hg_return_t wrong = check(wanted); wrong != HG_SUCCESS) return wrong;
    hg_op_id* const op = wanted.context->transfers.acquire();
    if (!op) return HG_AGAIN;
    op->context = wanted.context;
    op->callback = wanted.callback;
    op->told = {};
    op->told.info.bulk = {wanted.origin, wanted.local, wanted.op, wanted.size};
    op->told.arg = wanted.arg;
    op->told.type = HG_CB_BULK;
    {
        const std::lock_guard lock(op->mutex);
        ++op->use;
        op->moving = nullptr;
        op->cancel_asked = op->ended = false;
    }
    (void)HG_Bulk_ref_incr(wanted.origin);
    (void)HG_Bulk_ref_incr(wanted.local);
    // Set before the transfer can complete.
    if (wanted.op_id && wanted.op_id != HG_OP_ID_IGNORE) *wanted.op_id = op->id();
    wanted.context->owner->counters.add(mercury::Counters::bulk_transfers);
    const hg_return_t transferred = transfer(wanted, *op);
    if (transferred == HG_SUCCESS) return HG_SUCCESS;
    (void)HG_Bulk_free(wanted.origin);
    (void)HG_Bulk_free(wanted.local);
    wanted.context->transfers.release(*op);
    return transferred;
}

}  // namespace

hg_return_t HG_Bulk_transfer_id(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                hg_addr_t origin_addr, uint8_t origin_id, hg_bulk_t origin_handle,
                                hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
                                hg_op_id_t* op_id) {
    if (!context || !origin_addr || !origin_handle) return HG_INVALID_ARG;
    if (origin_addr->owner != context->owner) {
        return failed("HG_Bulk_transfer: an address of another class", HG_INVALID_ARG);
    }
    if (origin_handle->is_bound) {
        return failed("HG_Bulk_transfer: the handle is bound, use HG_Bulk_bind_transfer", HG_INVALID_ARG);
    }
    return mercury::guarded([&] {
        const na::Addr& addr = origin_addr->addr;
        const bool there = static_cast<uint8_t>(addr.body().context) == origin_id;
        return start({context,
                      callback,
                      arg,
                      op,
                      there ? addr : addr.with_context(origin_id),
                      false,
                      {},
                      origin_handle,
                      origin_offset,
                      local_handle,
                      local_offset,
                      size,
                      op_id});
    });
}

hg_return_t HG_Bulk_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op, hg_addr_t origin_addr,
                             hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                             hg_size_t local_offset, hg_size_t size, hg_op_id_t* op_id) {
    const uint8_t id = origin_addr ? static_cast<uint8_t>(origin_addr->addr.body().context) : 0;
    return HG_Bulk_transfer_id(context, callback, arg, op, origin_addr, id, origin_handle, origin_offset, local_handle,
                               local_offset, size, op_id);
}

hg_return_t HG_Bulk_bind_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op,
                                  hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                                  hg_size_t local_offset, hg_size_t size, hg_op_id_t* op_id) {
    if (!context || !origin_handle) return HG_INVALID_ARG;
    if (!origin_handle->is_bound)
        return failed("HG_Bulk_bind_transfer: the handle is not bound, use HG_Bulk_transfer", HG_INVALID_ARG);
    return mercury::guarded([&] {
        const na::Addr& owner = origin_handle->bound.addr;
        // An owner that does not listen cannot be dialled. If this class is the owner, the memory is reached directly;
        // otherwise over the connection on which the handle arrived.
        const bool mine = !context->owner->network->listen && context->owner->is_me(owner);
        na::Addr owner_at = owner.is_connection() ? owner : na::Addr();
        if (mine) owner_at = context->owner->self().with_context(owner.body().context);
        return start({context, callback, arg, op, owner, true, owner_at, origin_handle, origin_offset, local_handle,
                      local_offset, size, op_id});
    });
}

hg_return_t HG_Bulk_cancel(hg_op_id_t op_id) {
    if (!op_id) return HG_INVALID_ARG;
    hg_op_id& op = hg_op_id::of(op_id);
    const std::lock_guard lock(op.mutex);
    if (op.id() != op_id || op.ended) return HG_SUCCESS;  // it has ended already
    op.cancel_asked = true;
    if (op.moving) op.context->rpc->mover().cancel(*op.moving);
    return HG_SUCCESS;
}
