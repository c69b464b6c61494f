// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/call_op.hpp>

#include <algorithm>

namespace cinnabar::hl::detail {

CallOp::CallOp(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to,
               const CallOptions& options) noexcept
    : loop_(&node.pick_loop(options.context, to)), name_(name.text), to_(to), options_(options) {
    if (options.stop) stop_ = *options.stop;
    loop_->acquire();
    if (loop_->leaving()) {
        fail(Errc::closed);
        return;
    }
    stats_ = node.stats_of(name);
    Errc why = Errc::ok;
    call_ = loop_->context()->make_call(to, why);
    if (!call_) {
        fail(why);
        return;
    }
    call_->args.rpc = name.id;
    call_->args.provider = options_.provider;
    call_->args.shape = shape;
    call_->args.one_way = name.one_way;
}

CallOp::CallOp(CallOp&& other) noexcept
    : user(other.user),
      call_(std::exchange(other.call_, nullptr)),
      loop_(std::exchange(other.loop_, nullptr)),
      stats_(other.stats_),
      name_(other.name_),
      to_(std::move(other.to_)),
      options_(other.options_),
      stop_(std::move(other.stop_)),
      input_bytes_(other.input_bytes_),
      result_held_(std::exchange(other.result_held_, false)),
      error_(other.error_),
      app_code_(other.app_code_),
      app_text_(std::move(other.app_text_)) {
    CINNABAR_ASSERT(!other.in_flight_);
}

CallOp::~CallOp() {
    CINNABAR_ASSERT(!in_flight_);
    give_back();
    if (loop_) loop_->release();
}

Executor* CallOp::open_loop() const noexcept { return loop_->leaving() ? nullptr : loop_; }

Bytes CallOp::room_for(std::size_t bytes) noexcept {
    Bytes room = call_->input_room();
    if (bytes <= room.size()) return room;
    if (const Errc refused = call_->grow_input(bytes, room); refused != Errc::ok) {
        fail(refused);
        return {};
    }
    return room;
}

void CallOp::fail(Errc code) noexcept {
    error_ = code;
    give_back();
}

void CallOp::give_back() noexcept {
    if (rpc::Call* call = std::exchange(call_, nullptr)) call->release();
    if (std::exchange(result_held_, false)) loop_->results_held.fetch_sub(1, std::memory_order_release);
}

bool CallOp::start(const TaskContext* task, Finished finished) noexcept {
    if (!call_) return false;
    if (loop_->leaving()) return fail(Errc::closed), false;
    const bool in_task = task != nullptr && task->deadline != time_never;
    started_us_ = loop_->context()->now_us();
    const Microseconds span = options_.deadline.value_or(in_task ? no_deadline : default_deadline);
    TimeUs deadline = span == no_deadline ? time_never : after(started_us_, span);
    if (task) deadline = std::min(deadline, task->deadline);
    call_->args.deadline = deadline;
    finished_ = finished;
    scope_ = task ? task->stop_scope() : nullptr;
    watched_ = scope_ != nullptr || stop_.stop_possible();
    if ((scope_ && scope_->stopped()) || stop_.stop_requested()) return fail(Errc::canceled), false;
    in_flight_ = true;
    const bool watched = watched_;
    if (const Errc refused = call_->forward(input_bytes_, &CallOp::on_done, this); refused != Errc::ok) {
        in_flight_ = watched_ = false;
        return fail(refused), false;
    }
    // If nobody can stop it, the call may have ended by now, and this object may be destroyed.
    if (!watched) return true;
    watch();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) return true;
    end();
    return false;
}

bool CallOp::start_for(const TaskContext* task, Job& job) noexcept {
    job_ = &job;
    executor_ = task ? task->executor : nullptr;
    if (executor_) executor_->relies_on(*loop_);
    return start(task, [](CallOp& op) noexcept {
        if (op.executor_) return continue_on(*op.executor_, *op.job_);
        op.job_->body(*op.job_);
    });
}

void CallOp::watch() noexcept {
    stop_node_.user = this;
    stop_node_.fire = [](StopNode& node) noexcept { static_cast<CallOp*>(node.user)->call_->cancel_soon(); };
    if (scope_ && !scope_->add(stop_node_)) call_->cancel();
    if (stop_.stop_possible()) stop_callback_.emplace(stop_, CancelCall{this});
}

void CallOp::cancel() noexcept {
    if (call_) call_->cancel();
}

void CallOp::on_done(rpc::Call& call, void* user) noexcept {
    CallOp& op = *static_cast<CallOp*>(user);
    op.error_ = call.result();
    if (op.stats_) op.stats_->count_call(call.context().now_us() - op.started_us_, op.error_);
    if (op.watched_ && op.arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) return;  // start() ends it
    op.end();
    op.finished_(op);
}

// Runs when start() and the completion are both done.
void CallOp::end() noexcept {
    if (watched_) {
        if (scope_) scope_->remove(stop_node_);
        stop_callback_.reset();
    }
    in_flight_ = false;
    if (error_ == Errc::ok) {
        result_held_ = true;
        loop_->results_held.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (error_ == Errc::application) {
        app_code_ = call_->app_code();
        app_text_ = call_->app_text();
    }
    quarantined_ = !call_->fenced();
    give_back();
}

bool CallOp::ended_well(std::uint16_t shape) noexcept {
    CINNABAR_ASSERT(!in_flight_);
    if (!call_) return false;
    const std::uint16_t theirs = call_->output_shape();
    if (shape == 0 || theirs == 0 || rpc::shapes_match(shape, theirs)) return true;
    fail(Errc::bad_signature);
    return false;
}

Error CallOp::failure() const {
    // No error: the outcome was taken before, or the call was never started.
    const Errc code = error_ != Errc::ok ? error_ : Errc::invalid_argument;
    Error error(code, advice(code));
    if (code == Errc::too_large)
        error.hint =
            "over NodeOptions::rpc.argument_bytes_max of this node or the peer, or, decoded, over half of "
            "rpc.decoded_bytes_max there: lend it as a Bulk, or raise the limit";
    if (quarantined_)
        error.hint = "the peer may still access the memory that was lent: leave it alone while Region::quarantined()";
    if (code == Errc::application) {
        error.hint = {};
        error.app_code = app_code_;
        error.subject = app_text_;
    } else {
        error.subject.assign(name_).append(" at ").append(to_.empty() ? "no address" : to_.to_string());
    }
    return error;
}

}  // namespace cinnabar::hl::detail
