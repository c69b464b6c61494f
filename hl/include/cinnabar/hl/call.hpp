// SPDX-License-Identifier: BSD-3-Clause
// A call that was made and waits to be sent: what Node::call returns. Its arguments are encoded already, so nothing of
// the caller's must live on but memory that it lends. Send it in one of four ways, once:
//
//     Result<int> a = co_await node.call(sum, peer, {2, 3});               // in a task (g++ 12: see task.hpp)
//     Result<int> b = sync_wait(node.call(sum, peer, {2, 3}));             // from plain code (also: node.call_sync)
//     node.call(sum, peer, {2, 3}).then([](Result<int> c) { ... });        // callback, from the node's loop
//     Future<int> d = node.call(sum, peer, {2, 3}).future();               // ask later
//
// One that is dropped unsent is not sent. One that is awaited must not be destroyed until it has ended.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>

namespace cinnabar::hl {

class NodeCore;

inline constexpr Microseconds default_deadline{30'000'000};
// Must be said: a call without it ends at the latest after default_deadline.
inline constexpr Microseconds no_deadline = Microseconds::max();

// Stays without a destructor: g++ 12 destroys such temporaries twice when they are written in braces inside co_await.
struct CallOptions {
    // From the moment it is sent: covers queueing, connecting, transfer, the handler and the reply. Unset: that of the
    // task around it (in a handler: what the caller gave), or default_deadline. In a task the earlier one holds.
    std::optional<Microseconds> deadline = {};
    const std::stop_token* stop = nullptr;  // besides that of the task around it; copied when the call is made
    rpc::ProviderId provider = 0;           // which of several services of one kind
    std::optional<unsigned> context = {};   // of this node; unset: the one whose loop runs here, or the first
};
static_assert(std::is_trivially_destructible_v<CallOptions>);

// The part of a call that does not depend on its types.
class CINNABAR_API CallOp {
  public:
    // Requires: not sent.
    CallOp(CallOp&& other) noexcept;
    CallOp& operator=(CallOp&&) = delete;
    // Requires: not in flight.
    ~CallOp();

    // Sends it. True: `finished` will run once, from the loop; false: it has ended already (or could not be sent) and
    // `finished` never runs. `task` may be null.
    using Finished = void (*)(CallOp& self) noexcept;
    [[nodiscard]] bool start(const TaskContext* task, Finished finished) noexcept;
    // Asks for an early end. While in flight; not at the same time as the outcome is taken.
    void cancel() noexcept;
    [[nodiscard]] Loop& loop() const noexcept { return *loop_; }
    // The same as an executor; null once the node is closed.
    [[nodiscard]] Executor* open_loop() const noexcept;

    void* user = nullptr;  // for whoever started it

  protected:
    CallOp(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to,
           const CallOptions& options) noexcept;

    template <typename... In>
    void encode(const In&... in) noexcept;
    template <typename Out>
    [[nodiscard]] Result<Out> take() noexcept;

    // For awaiting: resumes `job` when it has ended.
    [[nodiscard]] bool start_for(const TaskContext* task, Job& job) noexcept;
    [[nodiscard]] bool ready() const noexcept { return call_ == nullptr; }

  private:
    struct CancelCall {
        CallOp* op;
        void operator()() const noexcept { op->call_->cancel(); }
    };
    // Where arguments of that size are encoded; empty after a failure, which it keeps.
    [[nodiscard]] Bytes room_for(std::size_t bytes) noexcept;
    void fail(Errc code) noexcept;
    static void on_done(rpc::Call& call, void* user) noexcept;
    void watch() noexcept;
    void end() noexcept;
    void give_back() noexcept;
    [[nodiscard]] ConstBytes output() const noexcept { return call_->output(); }
    // Checks how it ended and the shape of the result.
    [[nodiscard]] bool ended_well(std::uint16_t shape) noexcept;
    [[nodiscard]] Error failure() const;

    rpc::Call* call_ = nullptr;  // null: ended or failed
    Loop* loop_ = nullptr;       // counted
    RpcStats* stats_ = nullptr;
    std::string_view name_;
    na::Addr to_;
    CallOptions options_;
    std::stop_token stop_;
    std::size_t input_bytes_ = 0;
    TimeUs started_us_ = 0;
    Finished finished_ = nullptr;
    Job* job_ = nullptr;
    Executor* executor_ = nullptr;  // where the job runs; null: on the loop
    StopScope* scope_ = nullptr;
    StopNode stop_node_;
    std::optional<std::stop_callback<CancelCall>> stop_callback_;
    // Sending and completion may overlap on two threads when somebody may stop the call: the later of the two ends it.
    std::atomic<std::uint8_t> arrived_{0};
    bool watched_ = false;
    bool in_flight_ = false;
    bool untaken_ = false;  // counted by the loop
    Errc error_ = Errc::ok;
    std::uint32_t app_code_ = 0;
    std::string app_text_;
};

template <typename Out>
class Future;

template <typename Out>
class [[nodiscard]] Pending : public CallOp {
  public:
    using Output = detail::OutputOf<Out>;

    template <typename... In>
    Pending(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to, const CallOptions& options,
            const In&... in) noexcept
        : CallOp(node, name, shape, to, options) {
        encode(in...);
    }
    Pending(Pending&&) noexcept = default;

    [[nodiscard]] bool await_ready() const noexcept { return ready(); }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        job_.resumes(handle);
        return start_for(context_of(handle), job_);
    }
    Result<Out> await_resume() noexcept { return outcome(); }

    // Calls f(Result<Out>) once, from the loop; from here only if the node is closed. What it throws is logged.
    template <typename F>
    void then(F f) &&;
    // Dropping the future cancels the call.
    [[nodiscard]] Future<Out> future() &&;

    // For starters, after the end.
    [[nodiscard]] Result<Out> outcome() noexcept {
        if constexpr (std::is_void_v<Out>) {
            Result<Output> result = this->template take<Output>();
            if (!result) return std::move(result).error();
            return {};
        } else {
            return this->template take<Out>();
        }
    }

  private:
    Job job_;
};

template <typename... In>
void CallOp::encode(const In&... in) noexcept {
    if (!call_) return;
    std::size_t bytes = (std::size_t{0} + ... + rpc::Codec<In>::min_size);
    if constexpr (!(true && ... && rpc::Codec<In>::fixed)) {
        rpc::Sizer sizer(call_);
        rpc::detail::guarded(sizer, Errc::invalid_argument, [&] { sizer(in...); });
        if (!sizer.ok()) return fail(sizer.error());
        bytes = sizer.size();
    }
    rpc::Encoder encoder(room_for(bytes), call_);
    if (!call_) return;
    rpc::detail::guarded(encoder, Errc::invalid_argument, [&] { encoder(in...); });
    if (!encoder.ok()) return fail(encoder.error());
    input_bytes_ = encoder.position();
}

template <typename Out>
Result<Out> CallOp::take() noexcept {
    if (!ended_well(rpc::shape_of<Out>())) return failure();
    Out out{};
    const Errc decoded = rpc::decode(output(), out);
    give_back();
    if (decoded != Errc::ok) {
        error_ = decoded;
        return failure();
    }
    return out;
}

namespace detail {

// The state of `then`: frees itself after the callback.
template <typename Out, typename F>
struct Then : Framed {
    Pending<Out> op;
    F f;
    Job job;

    void run() noexcept {
        const std::unique_ptr<Then> self(this);
        try {
            f(op.outcome());
        } catch (...) {
            log_exception("a callback");
        }
    }
};

}  // namespace detail

template <typename Out>
template <typename F>
void Pending<Out>::then(F f) && {
    using Then = detail::Then<Out, F>;
    auto* state = new Then{{}, std::move(*this), std::move(f), {}};
    state->op.user = state;
    state->job.user = state;
    state->job.body = [](Job& job) noexcept { static_cast<Then*>(job.user)->run(); };
    if (state->op.start(nullptr, [](CallOp& op) noexcept { static_cast<Then*>(op.user)->run(); })) return;
    // A callback never runs inside the call that starts it.
    if (Executor* loop = state->op.open_loop()) return loop->post(state->job);
    state->run();
}

}  // namespace cinnabar::hl
