// SPDX-License-Identifier: BSD-3-Clause
// Request: what a handler may take instead of the plain arguments. A Request gives access to the arguments, the caller
// and the deadline, and tells whether the caller still waits.
#pragma once

#include <cinnabar/hl/app_error.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/hl/trace.hpp>
#include <cinnabar/rpc/request.hpp>

#include <stop_token>
#include <string>
#include <string_view>

namespace cinnabar::hl {

struct ServedBase;
struct RequestScope;

// The state of a running handler that does not depend on its types. Lives as long as the handler runs.
class CINNABAR_API RequestState {
  public:
    // Takes over the reference to `request`. Begins::later: the request waits for its handler until begins(), which is
    // called once, on the thread on which the handler runs. Begins::as_callback: as at_once, and the handler is all
    // that a callback of trigger() does.
    enum class Begins : std::uint8_t { at_once, later, as_callback };
    RequestState(ServedBase& served, rpc::Request& request, Begins when = Begins::at_once) noexcept;
    ~RequestState();
    RequestState(const RequestState&) = delete;
    RequestState& operator=(const RequestState&) = delete;

    void begins() noexcept;

    [[nodiscard]] rpc::Request& request() noexcept { return request_; }
    [[nodiscard]] NodeRef node() const noexcept;
    // The pool that the handler runs on, or the loop.
    [[nodiscard]] Executor& executor() const noexcept;
    // Stopped when the caller cancels or is lost, and when the node is destroyed. Created at the first use. Any thread.
    [[nodiscard]] StopScope& stop_scope() noexcept;
    [[nodiscard]] Microseconds time_left() const noexcept;

    // The trace that the request belongs to; empty: none. The span in the TraceContext is the handler's or, if no
    // Tracer records the handler, the call's. The trace is sampled unless the caller or this node's Tracer decides
    // otherwise.
    [[nodiscard]] TraceContext trace() const noexcept;
    [[nodiscard]] bool traced() const noexcept { return request_.asks().traced(); }
    [[nodiscard]] NodeCore& core() const noexcept;

    void answer_error(const Error& error) noexcept;
    // Logs the current exception and answers handler_failed. Call it inside a catch block.
    void answer_exception() noexcept;
    template <typename T>
    void answer(const T& value) noexcept;
    template <typename T>
    [[nodiscard]] bool decode(T& input) noexcept;

  private:
    [[nodiscard]] Bytes large_room(std::size_t bytes) noexcept;
    void count(Errc result) noexcept;
    [[gnu::cold, gnu::noinline]] void begin_span() noexcept;
    [[gnu::cold, gnu::noinline]] void end_span(Errc result, TimeUs now) noexcept;

    ServedBase& served_;
    rpc::Request& request_;
    Loop* loop_;
    const bool is_callback_;
    TimeUs started_us_;
    std::uint64_t span_ = 0;  // 0: not recorded
    bool sampled_ = false;    // of the trace, as this node passes it on
    std::atomic<RequestScope*> scope_{nullptr};
};

// A reference to the running request; must not outlive the handler. In is Rpc::Input: the argument, a tuple of several
// arguments, or nothing (Request<>) for an Rpc without arguments. RequestOf<sum> is the Request type of the contract
// `sum`.
template <typename In = rpc::Empty>
class Request {
  public:
    Request(RequestState& state, In& input) noexcept : state_(&state), input_(&input) {}
    Request(Request&&) noexcept = default;
    Request& operator=(Request&&) noexcept = default;

    [[nodiscard]] In* operator->() const noexcept { return input_; }
    [[nodiscard]] In& operator*() const noexcept { return *input_; }

    [[nodiscard]] NodeRef node() const noexcept { return state_->node(); }
    // The caller's address. Calls to it use the same connection.
    [[nodiscard]] const na::Addr& source() const noexcept { return state_->request().source(); }
    [[nodiscard]] rpc::ProviderId provider() const noexcept { return state_->request().provider(); }
    // The place that the caller claims (admission.hpp); 0: none.
    [[nodiscard]] std::uint64_t place() const noexcept { return state_->request().place(); }
    // On the node's clock; time_never if the caller set none.
    [[nodiscard]] TimeUs deadline() const noexcept { return state_->request().deadline(); }
    // The time until the deadline: 0 if it has passed, Microseconds::max() if the caller set none.
    [[nodiscard]] Microseconds time_left() const noexcept { return state_->time_left(); }
    // True once nobody waits for the answer.
    [[nodiscard]] bool canceled() const noexcept { return state_->request().canceled(); }
    // The trace, which calls of this handler inherit. Pass it to other libraries with to_traceparent().
    [[nodiscard]] TraceContext trace() const noexcept { return state_->trace(); }
    [[nodiscard]] std::stop_token stop_token() const { return state_->stop_scope().token(); }

    // Makes an application error for the handler to return; see app_error.
    [[nodiscard]] Error fail(std::uint32_t app_code, std::string_view text = {}) const {
        return app_error(app_code, text);
    }

  private:
    RequestState* state_;
    In* input_;
};

template <const auto& Of>
using RequestOf = Request<typename std::remove_cvref_t<decltype(Of)>::Input>;

template <typename T>
void RequestState::answer(const T& value) noexcept {
    if (request_.one_way()) return count(Errc::ok);
    std::size_t bytes = rpc::Codec<T>::min_size;
    if constexpr (!rpc::Codec<T>::fixed) {
        rpc::Sizer sizer;
        rpc::detail::guarded(sizer, Errc::invalid_argument, [&] { sizer(value); });
        if (!sizer.ok()) return answer_error(sizer.error());
        bytes = sizer.size();
    }
    Bytes room = request_.output_room();
    if (bytes > room.size()) [[unlikely]] {
        room = large_room(bytes);
        if (request_.answered()) return;
    }
    std::size_t used = 0;
    if (const Errc refused = rpc::encode(room, value, used); refused != Errc::ok) return answer_error(refused);
    count(Errc::ok);
    request_.respond(used, rpc::shape_of<T>());
}

template <typename T>
bool RequestState::decode(T& input) noexcept {
    const Errc refused = rpc::decode(request_.input(), input, &request_, request_.decode_limits());
    if (refused == Errc::ok) return true;
    answer_error(refused);
    return false;
}

}  // namespace cinnabar::hl
