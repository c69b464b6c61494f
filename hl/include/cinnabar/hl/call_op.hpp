// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Pending. Arguments are encoded in the constructor and not kept. A CallOp is sent at most once;
// it can be moved until it is sent, and must not be destroyed in flight.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error_detail.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/call_options.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/hl/stats.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cinnabar::hl {

class Loop;
class NodeCore;

namespace detail {

// How a call ended; Attempts (attempts.hpp) decides by it whether to retry.
struct CallEnd {
    bool was_sent = false;  // the target may have received it
    rpc::CallPhase phase = rpc::CallPhase::unknown;
    // How long to wait before the call is retried, and the reserved place (0: none). Set if `overloaded` came from
    // come_again(), which means that the handler has done nothing.
    std::optional<Microseconds> come_again = {};
    std::uint64_t place = 0;
};

class CallOp;

// What few calls need: a stop token, and facts for the error of a call that failed. Taken from a pool, so that only
// those pay for it.
class CINNABAR_API CallExtras {
  public:
    struct Cancel {
        CallOp* op;
        void operator()() const noexcept;
    };
    struct Parts : Framed {
        std::stop_token stop;  // of CallOptions
        std::optional<std::stop_callback<Cancel>> stop_callback;
        na::Addr to;
        std::string text;     // of an application's error, or how the call ended
        SharedDetail ending;  // the latter as data (call_ending.hpp)
    };
    // Null: there are none.
    [[nodiscard]] Parts* get() const noexcept { return parts_.get(); }
    // Makes them, unless they are there. Null: there is no memory.
    [[gnu::cold, gnu::noinline]] Parts* make() noexcept;
    // False: there is no memory.
    [[nodiscard, gnu::cold, gnu::noinline]] bool set_stop(const std::stop_token& stop) noexcept;
    // Without memory, the error does not name the peer.
    [[gnu::cold, gnu::noinline]] void set_peer(const na::Addr& to) noexcept;

  private:
    std::unique_ptr<Parts> parts_;
};

// The part of a call that does not depend on its types.
class CINNABAR_API CallOp {
  public:
    // Requires: not sent.
    CallOp(CallOp&& other) noexcept;
    CallOp& operator=(CallOp&&) = delete;
    // Requires: not in flight.
    ~CallOp();

    // Sends the call. True: `finished` runs once, on the loop. False: the call has ended already or could not be sent,
    // and `finished` never runs. `task` may be null.
    using Finished = void (*)(CallOp& self) noexcept;
    [[nodiscard]] bool start(const TaskContext* task, Finished finished) noexcept;
    // Cancels the call. Requires: in flight, and no other thread takes the outcome at the same time.
    void cancel() noexcept;
    [[nodiscard]] Loop& loop() const noexcept { return *loop_; }
    // The loop as an executor; null once the node is closed.
    [[nodiscard]] Executor* open_loop() const noexcept;

    void* user = nullptr;  // free for the code that started it

    // Claims a reserved place (rpc::Call::claim_place). Call claim_place() and bytes() before the call is sent. bytes()
    // returns the size of the arguments and of the lent memory.
    void claim_place(std::uint64_t place) noexcept {
        if (call_) call_->claim_place(place);
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return call_ ? input_bytes_ + call_->lent_bytes() : 0; }
    // For a call that has failed, after its outcome was taken.
    [[nodiscard]] CallEnd end_of() const noexcept;

    // For co_await: like start(), but resumes `awaiting` when the call has ended, on the executor of the task or, if
    // the task has none, on the loop. A coroutine whose executor is the loop must take the outcome as soon as it is
    // resumed.
    [[nodiscard]] bool start_for(const TaskContext* task, std::coroutine_handle<> awaiting) noexcept;
    [[nodiscard]] bool ready() const noexcept { return call_ == nullptr; }

  protected:
    CallOp(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to,
           const CallOptions& options) noexcept;

    template <typename... In>
    void encode(const In&... in) noexcept;
    template <typename Out>
    [[nodiscard]] Result<Out> take() noexcept;

  private:
    // The buffer for encoded arguments of that size. Empty on failure; the error is kept in error_.
    [[nodiscard]] Bytes room_for(std::size_t bytes) noexcept;
    void fail(Errc code) noexcept;
    void not_encoded(Errc code) noexcept;
    [[gnu::cold]] bool refuse(Errc code) noexcept;
    static void on_done(rpc::Call& call, void* user) noexcept;
    static void resume_awaiting(CallOp& op) noexcept;
    // `held`: the outcome may be taken on another thread, or after the callback has returned.
    enum class Held : bool { no, yes };
    // Registers the started call where it may be stopped. It may have ended already, and not in this thread's turn: so
    // it does not read extras_. by_token: the extras, if a token may stop the call.
    void watch(bool in_turn, CallExtras::Parts* by_token) noexcept;
    void end(Held held) noexcept;
    void give_back() noexcept {
        if (rpc::Call* call = std::exchange(call_, nullptr)) call->release();
        if (result_held_) result_taken();
    }
    void result_taken() noexcept;
    [[nodiscard]] ConstBytes output() const noexcept { return call_->output(); }
    // Whether the call succeeded with a result of this shape.
    [[nodiscard]] bool ended_well(std::uint16_t shape) noexcept;
    [[nodiscard]] Error failure() const;
    [[gnu::noinline]] void tell_more(rpc::Call& call) noexcept;
    [[gnu::cold, gnu::noinline]] void tell_ending(rpc::Call& call, TimeUs took_us) noexcept;
    [[gnu::cold, gnu::noinline]] void tell_refusal() noexcept;
    [[gnu::cold, gnu::noinline]] void tell(std::string_view first, std::string_view second = {}) noexcept;
    // Splits the time of a call into phases. `now`: when the callback of the call runs. False: the answer does not say
    // how much time the target took.
    [[nodiscard]] bool parts_of_call(const rpc::Call& call, TimeUs now, CallParts& parts) const noexcept;
    void count_parts(const rpc::Call& call) const noexcept;
    [[gnu::cold, gnu::noinline]] void count_unusual_parts(const rpc::Call& call, TimeUs told) const noexcept;
    // Makes the call a part of this trace.
    void join(const TraceContext& trace) noexcept;
    // Whether the call belongs to a trace before it begins one.
    [[nodiscard]] bool joins_trace(const TaskContext* task) const noexcept;
    [[gnu::cold, gnu::noinline]] void begin_span(const TaskContext* task) noexcept;
    [[gnu::cold, gnu::noinline]] void end_span(const rpc::Call& call) const noexcept;

    rpc::Call* call_ = nullptr;  // null: the outcome was taken, or it could not be made
    Loop* loop_ = nullptr;       // holds a reference
    RpcStats* stats_ = nullptr;
    std::string_view name_;
    std::optional<Microseconds> deadline_;
    std::size_t input_bytes_ = 0;
    std::uint64_t parent_span_;     // valid only of a call in a trace, once it was started
    Finished finished_;             // these two are valid once it was started
    StopScope* scope_;              // null: the task cannot be stopped
    Executor* executor_ = nullptr;  // where the coroutine that awaits it resumes; null: on the loop
    // start() and the completion of a call that can be stopped may run on two threads at the same time, unless start()
    // runs in a turn of the loop. Counts how many of the two are done; the second to increment the count calls end().
    std::atomic<std::uint8_t> arrived_{0};
    bool overlaps_ = false;
    bool watched_ = false;
    bool in_flight_ = false;
    bool result_held_ = false;  // counted in Loop::results_held
    bool quarantined_ = false;  // a part of the memory that it lent is in quarantine
    bool was_sent_ = false;     // set only if the call failed
    bool not_encoded_ = false;  // it failed in encode()
    bool comes_again_ = false;  // app_code_ and place_ are set
    bool by_quota_ = false;     // a quota of a policy refused it, and the text names it
    Errc error_ = Errc::ok;
    rpc::CallPhase ended_in_ = rpc::CallPhase::unknown;
    rpc::CallPhase longest_in_ = rpc::CallPhase::unknown;
    std::uint32_t app_code_ = 0;
    std::uint64_t place_;  // valid only if comes_again_: most calls have none
    CallExtras extras_;
    // For a StopNode, which is made only if the task can be stopped.
    alignas(StopNode) std::byte stop_node_room_[sizeof(StopNode)];
    // For a Job, which is made only to resume on another thread; uninitialized before that.
    alignas(Job) std::byte job_room_[sizeof(Job)];
};

// CallOp with the type of the result.
template <typename Out>
class CallOf : public CallOp {
  public:
    template <typename... In>
    CallOf(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to, const CallOptions& options,
           const In&... in) noexcept
        : CallOp(node, name, shape, to, options) {
        encode(in...);
    }
    CallOf(CallOf&&) noexcept = default;

    // Returns the result. Call once, after the call has ended.
    [[nodiscard]] Result<Out> outcome() noexcept {
        if constexpr (std::is_void_v<Out>) {
            Result<OutputOf<Out>> result = this->template take<OutputOf<Out>>();
            if (!result) return std::move(result).error();
            return {};
        } else {
            return this->template take<Out>();
        }
    }
};

template <typename... In>
void CallOp::encode(const In&... in) noexcept {
    if (!call_) return;
    std::size_t bytes = (std::size_t{0} + ... + rpc::Codec<In>::min_size);
    if constexpr (!(true && ... && rpc::Codec<In>::fixed)) {
        rpc::Sizer sizer(call_);
        rpc::detail::guarded(sizer, Errc::invalid_argument, [&] { sizer(in...); });
        if (!sizer.ok()) return not_encoded(sizer.error());
        bytes = sizer.size();
    }
    const Bytes room = room_for(bytes);
    if (!call_) return;
    if constexpr (sizeof...(In) == 1) {
        if (const Errc refused = rpc::encode(room, in..., input_bytes_, call_); refused != Errc::ok)
            return not_encoded(refused);
    } else {
        rpc::Encoder encoder(room, call_);
        rpc::detail::guarded(encoder, Errc::invalid_argument, [&] { encoder(in...); });
        if (!encoder.ok()) return not_encoded(encoder.error());
        input_bytes_ = encoder.position();
    }
}

template <typename Out>
Result<Out> CallOp::take() noexcept {
    if (!ended_well(rpc::shape_of<Out>())) return failure();
    Out out{};
    if (const Errc refused = rpc::decode(output(), out); refused != Errc::ok) {
        fail(refused);
        return failure();
    }
    give_back();
    return out;
}

}  // namespace detail
}  // namespace cinnabar::hl
