// SPDX-License-Identifier: BSD-3-Clause
#include "call_ending.hpp"
#include "current_trace.hpp"
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/test_yield.hpp>
#include <cinnabar/hl/admission.hpp>
#include <cinnabar/hl/call_op.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>

namespace cinnabar::hl::detail {
namespace {

TimeUs time_of(const rpc::Call& call) noexcept { return std::max(call.ended_us(), call.began_us) - call.began_us; }

}  // namespace

void CallExtras::Cancel::operator()() const noexcept { op->cancel(); }

CallExtras::Parts* CallExtras::make() noexcept {
    try {
        if (!parts_) parts_ = std::make_unique<Parts>();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return parts_.get();
}

bool CallExtras::set_stop(const std::stop_token& stop) noexcept {
    Parts* const parts = make();
    if (parts) parts->stop = stop;
    return parts != nullptr;
}

void CallExtras::set_peer(const na::Addr& to) noexcept {
    if (Parts* parts = make()) parts->to = to;
}

CallOp::CallOp(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to,
               const CallOptions& options) noexcept
    : loop_(&node.pick_loop(options.context, to)), name_(name.text), deadline_(options.deadline) {
    loop_->acquire();
    Errc why = Errc::closed;
    if (options.stop && !extras_.set_stop(*options.stop)) {
        why = Errc::out_of_memory;
    } else if (!loop_->leaving()) {
        stats_ = node.stats_of(name);
        call_ = loop_->context()->make_call(to, why);
    }
    if (!call_) {
        error_ = why;
        extras_.set_peer(to);
        return;
    }
    call_->args.rpc = name.id;
    call_->args.provider = options.provider;
    call_->args.shape = shape;
    call_->args.one_way = name.one_way;
    if (options.trace) {
        join(*options.trace);
        traces_seen.store(true, std::memory_order_relaxed);
    }
}

CallOp::CallOp(CallOp&& other) noexcept
    : user(other.user),
      call_(std::exchange(other.call_, nullptr)),
      loop_(std::exchange(other.loop_, nullptr)),
      stats_(other.stats_),
      name_(other.name_),
      deadline_(other.deadline_),
      input_bytes_(other.input_bytes_),
      result_held_(std::exchange(other.result_held_, false)),
      not_encoded_(other.not_encoded_),
      error_(other.error_),
      ended_in_(other.ended_in_),
      longest_in_(other.longest_in_),
      app_code_(other.app_code_),
      extras_(std::move(other.extras_)) {
    CINNABAR_ASSERT(!other.in_flight_);
}

CallOp::~CallOp() {
    CINNABAR_ASSERT(!in_flight_);
    if (call_) give_back();
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

void CallOp::not_encoded(Errc code) noexcept {
    not_encoded_ = true;
    fail(code);
}

void CallOp::fail(Errc code) noexcept {
    error_ = code;
    if (call_) {
        extras_.set_peer(call_->peer());
        was_sent_ = call_->was_sent();
    }
    give_back();
}

void CallOp::result_taken() noexcept {
    result_held_ = false;
    loop_->results_held.fetch_sub(1, std::memory_order_release);
}

// Adds to the text of the error; without memory, the error says less.
void CallOp::tell(std::string_view first, std::string_view second) noexcept {
    CallExtras::Parts* const extras = extras_.make();
    if (!extras) return;
    try {
        extras->text.append(first).append(second);
    } catch (const std::bad_alloc&) {
        return;
    }
}

// Takes over the text and the code of the error, which come from the target, from a quota, or from the transport that
// could not connect.
void CallOp::tell_refusal() noexcept {
    constexpr std::size_t rule_bytes_max = 128;
    constexpr std::size_t quota_bytes_max = 256;
    constexpr std::size_t because_bytes_max = 256;
    const std::string_view said = call_->app_text();
    if (error_ == Errc::application) {
        app_code_ = call_->app_code();
        tell(said);
    } else if (error_ == Errc::overloaded || error_ == Errc::too_large) {
        comes_again_ = error_ == Errc::overloaded && read_place(said, place_);
        app_code_ = call_->app_code();
        by_quota_ = !comes_again_ && said.starts_with("by the quota ");
        if (by_quota_)
            tell(call_->was_sent() ? ", refused there " : ", refused here ", said.substr(0, quota_bytes_max));
    } else if (!call_->was_sent() && !said.empty()) {
        tell(": the peer ", said.substr(0, because_bytes_max));
    } else if (error_ == Errc::permission && !said.empty()) {
        tell(": not allowed there, ", said.substr(0, rule_bytes_max));
    }
}

// Runs after both start() and the completion.
[[gnu::always_inline]] inline void CallOp::end(Held held) noexcept {
    if (watched_) {
        if (scope_) scope_->remove(*std::launder(reinterpret_cast<StopNode*>(stop_node_room_)));
        if (CallExtras::Parts* extras = extras_.get()) extras->stop_callback.reset();
    }
    in_flight_ = false;
    if (held == Held::yes) {
        result_held_ = true;
        loop_->results_held.fetch_add(1, std::memory_order_relaxed);
    }
    if (error_ == Errc::ok) return;
    // Keeps the call until the outcome is taken, as that of a call that succeeded: another thread may be in cancel().
    tell_refusal();
    quarantined_ = !call_->fenced();
    was_sent_ = call_->was_sent();
    extras_.set_peer(call_->peer());
    // A loop that closes has waited for the outcomes already, so no thread may use the context beside it from now on.
    if (loop_->leaving()) give_back();
}

// The call cannot even be started.
bool CallOp::refuse(Errc code) noexcept {
    if (stats_) {
        stats_->count_call(0, code);
        stats_->count_failure(rpc::CallPhase::unknown, code);
    }
    if (call_) fail(code);
    return false;
}

bool CallOp::start(const TaskContext* task, Finished finished) noexcept {
    if (loop_->leaving()) {  // the node, and stats_ with it, may be gone
        if (call_) fail(Errc::closed);
        return false;
    }
    if (!call_) return refuse(error_);
    const bool in_task = task != nullptr && task->deadline != time_never;
    const TimeUs now = loop_->now_us();
    call_->began_us = now;
    const Microseconds span = deadline_.value_or(in_task ? no_deadline : default_deadline);
    TimeUs deadline = span == no_deadline ? time_never : after(now, span);
    if (task) deadline = std::min(deadline, task->deadline_on(loop_->clock()));
    call_->args.deadline = deadline;
    const rpc::CallId id = call_->id();
    const NodeCore& node = loop_->node();
    call_->args.timed = node.times(id) && !call_->args.one_way;
    if (tracing() && (node.begins_trace(id) || joins_trace(task))) [[unlikely]]
        begin_span(task);
    finished_ = finished;
    scope_ = task ? task->stop_scope() : nullptr;
    CallExtras::Parts* const extras = extras_.get();
    // Null: no token stops it. If there is one, the completion does not replace the extras while watch() uses them.
    CallExtras::Parts* const by_token = extras && extras->stop.stop_possible() ? extras : nullptr;
    watched_ = scope_ != nullptr || by_token;
    if ((scope_ && scope_->stopped()) || (extras && extras->stop.stop_requested())) return refuse(Errc::canceled);
    in_flight_ = true;
    const bool watched = watched_;
    const bool in_turn = watched && loop_->here();
    overlaps_ = watched && !in_turn;
    if (const Errc refused = call_->forward(input_bytes_, &CallOp::on_done, this); refused != Errc::ok) {
        in_flight_ = watched_ = false;
        return refuse(refused);
    }
    // If the call cannot be stopped, it may have ended by now and this object may be destroyed.
    if (!watched) return true;
    if (!in_turn) CINNABAR_TEST_YIELD("call: may have ended");
    watch(in_turn, by_token);
    if (in_turn) return true;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) return true;
    end(Held::yes);
    return false;
}

bool CallOp::start_for(const TaskContext* task, std::coroutine_handle<> awaiting) noexcept {
    user = awaiting.address();
    executor_ = executor_of(task);
    if (executor_ && executor_ != loop_) executor_->relies_on(*loop_);
    return start(task, &CallOp::resume_awaiting);
}

void CallOp::resume_awaiting(CallOp& op) noexcept {
    const auto awaiting = std::coroutine_handle<>::from_address(op.user);
    if (!op.executor_ || op.executor_->here()) return awaiting.resume();
    Job& job = *new (op.job_room_) Job;
    job.resumes(awaiting);
    op.executor_->post(job);
}

[[gnu::always_inline]] inline void CallOp::watch(bool in_turn, CallExtras::Parts* by_token) noexcept {
    if (scope_) {
        StopNode& node = *::new (static_cast<void*>(stop_node_room_)) StopNode;
        node.user = this;
        node.fire = [](StopNode& fired) noexcept { static_cast<CallOp*>(fired.user)->call_->cancel_soon(); };
        const bool added = in_turn ? scope_->add_in_turn(node, *loop_) : scope_->add(node);
        if (!added) call_->cancel();
    }
    if (by_token) by_token->stop_callback.emplace(by_token->stop, CallExtras::Cancel{this});
}

void CallOp::cancel() noexcept {
    if (call_) call_->cancel();
}

[[gnu::always_inline]] inline bool CallOp::parts_of_call(const rpc::Call& call, TimeUs now,
                                                         CallParts& parts) const noexcept {
    rpc::CallTimes times;
    if (!call.times(times)) return false;
    times.told = now;
    parts = parts_of(times);
    return true;
}

void CallOp::on_done(rpc::Call& call, void* user) noexcept {
    CallOp& op = *static_cast<CallOp*>(user);
    CINNABAR_DEBUG_ASSERT(op.loop_->here());
    const Errc result = op.error_ = call.result();
    if (op.stats_) op.stats_->count_call(time_of(call), result, op.loop_->counts_alone());
    if (result != Errc::ok || call.args.timed || call.args.trace) [[unlikely]]
        op.tell_more(call);
    // start() ends it, unless it has arrived before, which a look shows without a locked instruction.
    if (op.overlaps_ && op.arrived_.load(std::memory_order_acquire) == 0 &&
        op.arrived_.fetch_add(1, std::memory_order_acq_rel) == 0) {
        return;
    }
    // A coroutine of this loop takes the outcome before resume() returns. The loop is not closed meanwhile.
    if (op.executor_ == op.loop_) {
        op.end(Held::no);
        return std::coroutine_handle<>::from_address(op.user).resume();
    }
    op.end(Held::yes);
    op.finished_(op);
}

// What few calls need: those that are timed, have failed, or belong to a trace.
void CallOp::tell_more(rpc::Call& call) noexcept {
    if (call.args.timed && stats_) count_parts(call);
    if (error_ != Errc::ok) tell_ending(call, time_of(call));
    if (call.args.trace) end_span(call);
}

void CallOp::count_parts(const rpc::Call& call) const noexcept {
    const TimeUs told = loop_->now_us();
    if (rpc::UsualParts usual; error_ == Errc::ok && call.usual_parts(told, usual)) [[likely]]
        return stats_->count_usual(usual);
    count_unusual_parts(call, told);
}

void CallOp::count_unusual_parts(const rpc::Call& call, TimeUs told) const noexcept {
    if (CallParts parts{}; parts_of_call(call, told, parts)) stats_->count_parts(parts);
}

bool CallOp::ended_well(std::uint16_t shape) noexcept {
    CINNABAR_ASSERT(!in_flight_);
    if (error_ != Errc::ok) give_back();
    if (!call_) return false;
    const std::uint16_t theirs = call_->output_shape();
    if (shape == 0 || theirs == 0 || rpc::shapes_match(shape, theirs)) return true;
    fail(Errc::bad_signature);
    return false;
}

namespace {

// Advice for a call that spent most of its time in this phase.
std::string_view advice_for(rpc::CallPhase phase) noexcept {
    switch (phase) {
        case rpc::CallPhase::connecting:
            return "no connection was made: check that the target runs and that the address is right";
        case rpc::CallPhase::waits_for_credit:
            return "the target accepts no more requests of this node: its handlers are slow or stuck, or "
                   "rpc.credits_per_peer_max there is small";
        case rpc::CallPhase::waits_for_reply_slot:
            return "all slots of this node for answers are in use: raise transport.receive_slots";
        case rpc::CallPhase::waits_for_room:
        case rpc::CallPhase::sending:
            return "the transport did not take the request in time: the peer does not read, or the network is slower "
                   "than what is sent";
        case rpc::CallPhase::sent:
            return "the request was sent and no answer came: see what the target does with it (cinnabar calls)";
        case rpc::CallPhase::fetching:
            return "the answer had arrived, and its large result was being fetched";
        default:
            return {};
    }
}

bool ends_early(Errc code) noexcept {
    return code == Errc::timed_out || code == Errc::canceled || code == Errc::peer_lost || code == Errc::overloaded;
}

// The phase in which a failed call ended. `noted`: the phase that the rpc layer has recorded.
rpc::CallPhase end_phase(rpc::CallPhase noted, Errc code, bool was_sent) noexcept {
    if (noted != rpc::CallPhase::unknown) return noted;
    if (was_sent) return rpc::CallPhase::sent;
    const bool dialled = code == Errc::refused || code == Errc::unreachable;
    return dialled ? rpc::CallPhase::connecting : rpc::CallPhase::unknown;
}

// For example "3.9 s" or "12 ms".
std::string span_text(TimeUs us) {
    std::array<char, 32> text{};
    if (us >= 1'000'000) {
        (void)std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(us) / 1e6);
    } else {
        (void)std::snprintf(text.data(), text.size(), us < 1'000 ? "%.3f ms" : "%.0f ms",
                            static_cast<double>(us) / 1e3);
    }
    return text.data();
}

// The phase in which most of the time was spent; a connection that was made needs no advice.
rpc::CallPhase longest_of(const rpc::CallWaits& waits) noexcept {
    const bool queued = waits.queued_us > waits.sent_us && waits.queued_for != rpc::CallPhase::connecting;
    return queued ? waits.queued_for : waits.phase;
}

// Whether the target answered that it is overloaded.
bool is_refused_there(Errc code, rpc::CallPhase phase) noexcept {
    return code == Errc::overloaded && (phase == rpc::CallPhase::sent || phase == rpc::CallPhase::sending);
}

// Adds the phases in order. The last phase is left out if the call was `answered` in it; an earlier phase is left out
// if it took a hundredth of the time or less.
void add_waits(std::string& text, const rpc::CallWaits& waits, bool answered) {
    const TimeUs least = (waits.connecting_us + waits.queued_us + waits.sent_us) / 100;
    const auto add = [&](rpc::CallPhase phase, TimeUs us) {
        if (phase == waits.phase ? answered : us <= least) return;
        text.append(to_string(phase));
        if (us != 0) text.append(" for ").append(span_text(us));
        if (phase == rpc::CallPhase::waits_for_credit && waits.ahead != 0)
            text.append(" behind ").append(std::to_string(waits.ahead)).append(" unanswered calls");
        text.append(", ");
    };
    if (waits.phase == rpc::CallPhase::connecting || waits.connecting_us != 0)
        add(rpc::CallPhase::connecting, waits.connecting_us);
    if (waits.queued_for != rpc::CallPhase::unknown && waits.queued_for != rpc::CallPhase::connecting)
        add(waits.queued_for, waits.queued_us);
    if (waits.phase != waits.queued_for && waits.phase != rpc::CallPhase::connecting) add(waits.phase, waits.sent_us);
}

// For whoever reads the log of a service whose callers keep errors to themselves. `text`: how the call ended.
void log_ending(const CallEnding& ending, Errc error, const std::string& text) noexcept {
    static constinit LogLimit lines;
    if (!log_enabled(LogLevel::info, "hl")) return;
    const std::string_view why = to_string(error);
    log_limited(lines, LogLevel::info, "hl",
                {rpc_field(ending.rpc), peer_field(ending.peer), transport_field(ending.transport), error_field(error),
                 phase_field(to_string(ending.waits.phase))},
                "%s at %s: %.*s%s", ending.rpc.c_str(), ending.peer.log_name().c_str(), static_cast<int>(why.size()),
                why.data(), text.c_str());
}

}  // namespace

// For example ", over tcp: waiting for a credit for 3.9 s behind 64 unanswered calls, ended after 4.0 s".
void CallOp::tell_ending(rpc::Call& call, TimeUs took_us) noexcept {
    const rpc::CallWaits waits = call.waits();
    if (stats_) stats_->count_failure(end_phase(waits.phase, error_, call.was_sent()), error_);
    if (!ends_early(error_)) return;
    ended_in_ = waits.phase;
    longest_in_ = longest_of(waits);
    try {
        auto detail = std::make_unique<CallEndingDetail>();
        detail->ending = {std::string(name_), call.peer(), std::string(call.scheme()), waits, longest_in_, took_us,
                          call.was_sent()};
        std::string text = ", over " + std::string(call.scheme()) + ": ";
        if (ended_in_ != rpc::CallPhase::unknown) add_waits(text, waits, is_refused_there(error_, waits.phase));
        text.append("ended after ").append(span_text(took_us));
        log_ending(detail->ending, error_, text);
        if (CallExtras::Parts* extras = extras_.make()) {
            extras->ending = SharedDetail(std::move(detail));
            extras->text = std::move(text);
        }
    } catch (const std::bad_alloc&) {
        return;  // the error says less
    }
}

CallEnd CallOp::end_of() const noexcept {
    CallEnd end;
    end.was_sent = was_sent_;
    end.phase = ended_in_;
    if (!comes_again_) return end;
    end.come_again = Microseconds(app_code_);
    end.place = place_;
    return end;
}

bool CallOp::joins_trace(const TaskContext* task) const noexcept {
    if (call_->args.trace) return true;
    return task && task->request ? task->request->traced() : static_cast<bool>(thread_trace);
}

void CallOp::join(const TraceContext& trace) noexcept {
    call_->args.trace = {{trace.id[0], trace.id[1]}, trace.span};
    call_->args.sampled = trace.sampled ? rpc::Sampled::yes : rpc::Sampled::no;
}

void CallOp::begin_span(const TaskContext* task) noexcept {
    rpc::TraceContext& trace = call_->args.trace;
    if (!trace) join(task && task->request ? task->request->trace() : current_trace());
    Tracer* const tracer = loop_->node().tracer();
    if (!tracer || call_->args.sampled == rpc::Sampled::no) return;
    if (!trace) {
        if (!tracer->records(TraceOrigin::here, call_->began_us)) return;
        trace = {{new_trace_number(), new_trace_number()}, 0};
    }
    call_->args.timed = !call_->args.one_way;
    parent_span_ = trace.span;
    trace.span = new_trace_number();
}

void CallOp::end_span(const rpc::Call& call) const noexcept {
    Tracer* const tracer = loop_->node().tracer();
    if (!tracer || call.args.sampled == rpc::Sampled::no) return;
    const rpc::TraceContext& trace = call.args.trace;
    const TimeUs now = loop_->now_us();
    CallParts parts{};
    (void)parts_of_call(call, now, parts);
    const TraceContext context{{trace.id[0], trace.id[1]}, trace.span};
    tracer->ended({SpanKind::call, name_, context, parent_span_, call.began_us, now, error_, &call.peer(), 0, parts});
}

Error CallOp::failure() const {
    // No error: the outcome was taken before, or the call was never started.
    const Errc code = error_ != Errc::ok ? error_ : Errc::invalid_argument;
    const std::string_view where = advice_for(longest_in_);
    const bool general = where.empty() || code == Errc::canceled || is_refused_there(code, ended_in_);
    Error error(code, general ? advice(code) : where);
    const CallExtras::Parts* const extras = extras_.get();
    if (extras) error.detail = extras->ending;
    const std::string_view text = extras ? std::string_view(extras->text) : std::string_view();
    const na::Addr to = extras ? extras->to : na::Addr();
    if (code == Errc::overloaded && ended_in_ == rpc::CallPhase::unknown)
        error.hint =
            "this node has no slot or no memory for another call: wait for earlier ones to end, or raise rpc.calls_max "
            "or rpc.large_bytes_max";
    if (by_quota_)
        error.hint = code == Errc::too_large
                         ? "a quota of the policy never allows that much: move less at once, or raise it"
                         : "a quota of the policy allows no more at a time: wait for earlier calls to end, or raise it";
    if (code == Errc::too_large && !by_quota_)
        error.hint =
            "over NodeOptions::rpc.argument_bytes_max of this node or the peer, or, decoded, over half of "
            "rpc.decoded_bytes_max there: lend it as a Bulk, or raise the limit";
    if (code == Errc::permission && !was_sent_ && !not_encoded_ && !to.empty())
        error.hint = text.empty() ? "the call was not sent: this node and the peer do not accept each other's key, "
                                    "certificate or user, and the log of this node or of the peer says why and what "
                                    "to do"
                                  : "the call was not sent: this node and the peer do not accept each other's key, "
                                    "certificate or user";
    if (code == Errc::unreachable && not_encoded_)
        error.hint =
            "an argument is memory that others cannot reach: its owner has to lend it as Bulk::forwardable(), and to "
            "listen on the transport on which it lends";
    if (comes_again_) {
        error.app_code = app_code_;
        error.hint = "the target says when to come again (cinnabar/hl/admission.hpp): call through a Caller";
    }
    if (quarantined_)
        error.hint = "the peer may still access the memory that was lent: do not use it while Region::quarantined()";
    if (code == Errc::application) {
        error.hint = {};
        error.app_code = app_code_;
        error.subject = text;
    } else {
        error.subject.assign(name_).append(" at ").append(to.empty() ? "no address" : to.to_string()).append(text);
    }
    return error;
}

}  // namespace cinnabar::hl::detail
