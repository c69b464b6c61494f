// SPDX-License-Identifier: BSD-3-Clause
#include "checked_move.hpp"
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/request.hpp>

#include <algorithm>
#include <string>

namespace cinnabar::hl {

TransferOp::TransferOp(bulk::Direction direction, const bulk::RemoteRegion& remote, bulk::Region local,
                       TransferOptions options) noexcept
    : options_(options) {
    args_.direction = direction;
    args_.remote = &remote;
    args_.local = std::move(local);
}

TransferOp::TransferOp(TransferOp&& other) noexcept
    : args_(std::move(other.args_)),
      options_(other.options_),
      request_(other.request_),
      node_(other.node_),
      error_(std::move(other.error_)) {
    CINNABAR_ASSERT(!other.in_flight_);
}

TransferOp::~TransferOp() { CINNABAR_ASSERT(!in_flight_); }

TransferOp&& TransferOp::under(rpc::Request* request) && noexcept {
    request_ = request;
    return std::move(*this);
}

TransferOp&& TransferOp::with(NodeCore& node, const na::Addr& peer) && noexcept {
    node_ = &node;
    args_.peer = peer;
    return std::move(*this);
}

TransferOp&& TransferOp::failed(Error error) && noexcept {
    error_ = std::move(error);
    return std::move(*this);
}

rpc::Context* TransferOp::context(const TaskContext* task) noexcept {
    if (request_) return &request_->context();
    if (!node_) return nullptr;
    Loop& loop = node_->pick_loop({}, args_.peer);
    if (loop.leaving()) return nullptr;
    if (Executor* const executor = executor_of(task)) executor->relies_on(loop);
    return loop.context();
}

// Sets the offsets, the size and the deadline of the transfer.
Errc TransferOp::plan(const TaskContext* task, rpc::Context& context) noexcept {
    const std::uint64_t remote_bytes = options_.blocks ? options_.blocks->bytes() : args_.remote->bytes();
    if (options_.offset > remote_bytes) return Errc::invalid_argument;
    const std::uint64_t both = std::min(remote_bytes - options_.offset, args_.local.bytes());
    args_.bytes = options_.bytes.value_or(both);
    if (args_.bytes > both) return Errc::invalid_argument;
    args_.remote_offset = options_.offset;
    args_.remote_blocks = options_.blocks;
    args_.stall_max = options_.stall;
    args_.follow_owner = options_.follow_owner;
    args_.notify = options_.notify;
    if (options_.deadline) args_.deadline = context.deadline_in(*options_.deadline);
    if (task) args_.deadline = std::min(args_.deadline, task->deadline_on(context.na().clock()));
    return Errc::ok;
}

bool TransferOp::start(const TaskContext* task) noexcept {
    if (error_) return false;
    rpc::Context* const context = this->context(task);
    code_ = context ? plan(task, *context) : node_ ? Errc::closed : Errc::invalid_argument;
    if (code_ != Errc::ok || args_.bytes == 0) return false;
    executor_ = executor_of(task);
    scope_ = task ? task->stop_scope() : nullptr;
    if (scope_ && scope_->stopped()) return code_ = Errc::canceled, false;
    mover_ = &context->mover();
    if (detail::tracing()) begin_span(task, *context);
    in_flight_ = true;
    const bool watched = scope_ != nullptr;
    const bulk::TransferProgress progress =
        options_.progress
            ? [](bulk::Transfer&, std::uint64_t bytes_done,
                 void* user) noexcept { (*static_cast<TransferOp*>(user)->options_.progress)(bytes_done); }
            : bulk::TransferProgress(nullptr);
    Errc why = Errc::ok;
    bulk::Transfer* const transfer =
        request_ ? request_->transfer(args_, &TransferOp::on_done, this, progress, why)
                 : mover_->start(args_, &TransferOp::on_done, this, bulk::Deliver::queued, progress, why);
    if (!transfer) {
        in_flight_ = false;
        code_ = why;
        if (trace_) end_span();
        return false;
    }
    // If the transfer cannot be stopped, it may have ended by now and this object may be destroyed.
    if (!watched) return true;
    transfer_ = transfer;
    stop_node_.user = this;
    stop_node_.fire = [](StopNode& node) noexcept {
        auto& self = *static_cast<TransferOp*>(node.user);
        self.mover_->cancel_soon(*self.transfer_);
    };
    if (!scope_->add(stop_node_)) mover_->cancel(*transfer);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) return true;
    scope_->remove(stop_node_);
    mover_->release(*transfer);
    in_flight_ = false;
    return false;
}

bool TransferOp::start_checked(std::coroutine_handle<> parent, const TaskContext* task) noexcept {
    if (error_) return false;
    if (!request_ && !node_) return code_ = Errc::invalid_argument, false;
    try {
        detail::CheckedMove move{args_.direction, args_.remote, args_.local, options_, request_, node_, args_.peer};
        checked_.emplace(detail::move_checked(std::move(move)));
    } catch (...) {
        error_ = detail::error_of_exception();
        return false;
    }
    checked_->start(parent, task).resume();
    return true;  // the task may have ended by now, and this object may be destroyed
}

void TransferOp::begin_span(const TaskContext* task, const rpc::Context& context) noexcept {
    const TraceContext trace = task && task->request ? task->request->trace() : current_trace();
    began_us_ = context.now_us();
    node_of_span_ = request_ ? &static_cast<RequestState*>(request_->user_data)->core() : node_;
    trace_ = {};
    if (trace.sampled && node_of_span_ && node_of_span_->tracer()) trace_ = {{trace.id[0], trace.id[1]}, trace.span};
}

void TransferOp::end_span() const noexcept {
    const TraceContext own{{trace_.id[0], trace_.id[1]}, detail::new_trace_number()};
    const na::Addr& owner = args_.remote->owner();
    const na::Addr& sender = request_ ? request_->source() : args_.peer;
    const na::Addr& peer = owner.empty() ? sender : owner;
    const std::uint64_t bytes = code_ == Errc::ok ? args_.bytes : moved_;
    const bool pull = args_.direction == bulk::Direction::pull;
    const TimeUs now = node_of_span_->loops().front()->now_us();
    node_of_span_->tracer()->ended({SpanKind::transfer, pull ? "pull" : "push", own, trace_.span, began_us_, now, code_,
                                    peer.empty() ? nullptr : &peer, bytes});
}

void TransferOp::on_done(bulk::Transfer& transfer, void* user) noexcept {
    TransferOp& op = *static_cast<TransferOp*>(user);
    op.code_ = transfer.result();
    op.moved_ = transfer.bytes_done();
    op.stalled_ = transfer.stalled();
    op.os_errno_ = transfer.os_errno();
    if (op.trace_) op.end_span();
    if (op.scope_) {
        if (op.arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) return;  // start() ends it
        op.scope_->remove(op.stop_node_);
    }
    op.mover_->release(transfer);
    op.in_flight_ = false;
    if (op.executor_) return continue_on(*op.executor_, op.job_);
    op.job_.body(op.job_);
}

Result<std::uint64_t> TransferOp::await_resume() noexcept {
    if (checked_) {
        try {
            return checked_->take();
        } catch (...) {
            return detail::error_of_exception();
        }
    }
    if (options_.moved) *options_.moved = moved_;
    if (error_) return std::move(*error_);
    if (code_ != Errc::ok) return failure();
    return args_.bytes;
}

Error TransferOp::failure() const {
    const na::Addr& owner = args_.remote->owner();
    Error error(code_, args_.direction == bulk::Direction::pull ? "the pull ended early" : "the push ended early");
    if (stalled_) error.hint = "stalled longer than TransferOptions::stall, or the node's limit: check the peer";
    if (args_.local.quarantined())
        error.hint = "the peer may still access the local memory: do not use it while Region::quarantined()";
    error.os_errno = static_cast<std::int16_t>(os_errno_);
    error.subject = std::to_string(moved_) + " of " + std::to_string(args_.bytes) + " bytes were moved";
    if (owner.empty()) return error;
    error.subject += ", memory of " + owner.to_string();
    if (code_ == Errc::unreachable)
        error.hint =
            "no transport of this node reaches the owner of the memory: open the one that the owner listens on";
    if (code_ == Errc::permission && !options_.follow_owner)
        error.hint = "the memory belongs to a third party, not to the caller: set TransferOptions::follow_owner";
    if (code_ == Errc::permission && options_.follow_owner)
        error.hint =
            "its owner does not lend it to this process, not like that, or not any more: the owner names those to whom "
            "it may be passed on (Bulk::forwardable_to)";
    return error;
}

namespace detail {

Result<Buffer> buffer_for(rpc::Request* request, std::uint64_t bytes) {
    if (!request)
        return Error(Errc::invalid_argument,
                     "this Bulk did not come with a request: fetch it inside the handler that received it");
    Buffers& buffers = static_cast<RequestState*>(request->user_data)->node().buffers();
    return buffers.take(static_cast<std::size_t>(bytes), request->source());
}

TransferOp move_plain(bulk::Direction direction, const bulk::RemoteRegion& remote, Result<bulk::Region> local,
                      TransferOptions options) {
    if (local) return TransferOp(direction, remote, *std::move(local), options);
    return TransferOp(direction, remote, {}, options).failed(std::move(local).error());
}

}  // namespace detail
}  // namespace cinnabar::hl
