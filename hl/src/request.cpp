// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/hl/admission.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/serve.hpp>

#include <algorithm>

namespace cinnabar::hl {

RequestState::RequestState(ServedBase& served, rpc::Request& request, Begins when) noexcept
    : served_(served),
      request_(request),
      loop_(&served.node->loop_of(request.context())),
      is_callback_(when == Begins::as_callback),
      started_us_(is_callback_ ? loop_->context()->na().callback_begins(na::Context::Exact::yes) : loop_->now_us()) {
    if (when != Begins::later) request.begins(started_us_);
    request.user_data = this;
    if (request.asks().traced()) begin_span();
}

RequestState::~RequestState() {
    if (RequestScope* scope = scope_.load(std::memory_order_acquire)) served_.node->give_scope(*scope);
    request_.release();
}

void RequestState::begins() noexcept {
    started_us_ = loop_->now_us();
    request_.begins(started_us_);
}

NodeCore& RequestState::core() const noexcept { return *served_.node; }

void RequestState::begin_span() noexcept {
    detail::traces_seen.store(true, std::memory_order_relaxed);
    sampled_ = request_.asks().sampled();
    Tracer* const tracer = served_.node->tracer();
    if (!tracer || !sampled_) return;
    sampled_ = tracer->records(TraceOrigin::elsewhere, started_us_);
    if (sampled_) span_ = detail::new_trace_number();
}

void RequestState::end_span(Errc result, TimeUs now) noexcept {
    served_.node->tracer()->ended({SpanKind::handler, served_.name, trace(), request_.trace().span, started_us_, now,
                                   result, &request_.source(), 0});
    span_ = 0;  // reported once
}

TraceContext RequestState::trace() const noexcept {
    if (!request_.asks().traced()) return {};
    const rpc::TraceContext& given = request_.trace();
    return {{given.id[0], given.id[1]}, span_ != 0 ? span_ : given.span, sampled_};
}

NodeRef RequestState::node() const noexcept { return NodeRef(served_.node); }

Executor& RequestState::executor() const noexcept {
    Executor* pool = served_.pool();
    return pool ? *pool : *loop_;
}

StopScope& RequestState::stop_scope() noexcept {
    if (RequestScope* scope = scope_.load(std::memory_order_acquire)) return scope->stop;
    NodeCore& node = *served_.node;
    RequestScope* made = node.take_scope(request_);
    CINNABAR_ASSERT(made);  // the pool has more scopes than there can be requests
    RequestScope* present = nullptr;
    if (!scope_.compare_exchange_strong(present, made, std::memory_order_acq_rel)) {
        node.give_scope(*made);
        return present->stop;
    }
    const auto canceled = [](rpc::Request& told, void* user) noexcept {
        auto& scope = *static_cast<RequestScope*>(user);
        const std::lock_guard lock(scope.mutex);
        if (scope.request == &told) scope.stop.stop();
    };
    request_.on_cancel(canceled, made);
    if (node.going()) made->stop.stop();
    return made->stop;
}

Microseconds RequestState::time_left() const noexcept {
    const TimeUs deadline = request_.deadline();
    if (deadline == time_never) return Microseconds::max();
    const TimeUs now = loop_->now_us();
    return Microseconds{deadline > now ? static_cast<std::int64_t>(deadline - now) : 0};
}

void RequestState::count(Errc result) noexcept {
    const TimeUs now = loop_->now_us();
    request_.ends(now);
    if (span_ != 0) end_span(result, now);
    if (is_callback_) loop_->context()->na().callback_ends(now);
    if (!served_.stats) return;
    const bool alone = loop_->counts_alone() && (is_callback_ || loop_->here());
    served_.stats->count_request(std::max(now, started_us_) - started_us_, result, alone);
}

Bytes RequestState::large_room(std::size_t bytes) noexcept {
    Bytes room;
    if (const Errc refused = request_.grow_output(bytes, room); refused != Errc::ok) {
        answer_error(refused);
        return {};
    }
    return room;
}

void RequestState::answer_error(const Error& error) noexcept {
    const Errc code = error.code == Errc::ok ? Errc::handler_failed : error.code;
    count(code);
    if (request_.one_way()) return;
    const bool comes_again = code == Errc::overloaded && detail::is_pushback(error);
    if (code == Errc::application || comes_again) return request_.respond_error(code, error.app_code, error.subject);
    request_.respond_error(code);
}

void RequestState::answer_exception() noexcept {
    const std::string text = detail::error_of_exception().message();
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::error, "hl",
                {peer_field(request_.source()), rpc_field(served_.name), error_field(Errc::handler_failed)},
                "the handler of %.*s threw: %s", static_cast<int>(served_.name.size()), served_.name.data(),
                text.c_str());
    if (!request_.answered()) answer_error(Errc::handler_failed);
}

bool ServedBase::enter() noexcept { return node->enter(); }
void ServedBase::leave(void* node) noexcept { static_cast<NodeCore*>(node)->leave(); }

Executor* ServedBase::pool() const noexcept { return options.pool.get(); }
Errc ServedBase::post_to_pool(NewJob& job, const na::Addr& peer) noexcept {
    return options.pool->post_new(job, options.priority, peer);
}

Result<void> ServedBase::add(std::shared_ptr<ServedBase> served, const RpcName& rpc, std::uint16_t shape,
                             void (*run)(rpc::Request&, void*) noexcept) {
    served->name = rpc.text;
    served->stats = served->node->stats_of(rpc);
    const ServeOptions& options = served->options;
    served->is_callback = !options.pool && !options.on_arrival && !options.urgent;
    const rpc::ProviderId provider = served->options.provider;
    rpc::Engine& engine = served->node->engine();
    rpc::Handler handler{run, {}, std::string(rpc.text), shape};
    handler.on_arrival = served->options.on_arrival || served->options.urgent;
    handler.urgent = served->options.urgent;
    handler.target = std::move(served);
    return engine.serve(rpc.id, provider, std::move(handler));
}

}  // namespace cinnabar::hl
