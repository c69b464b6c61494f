// SPDX-License-Identifier: BSD-3-Clause
// A call as its target sees it. The handler gets it from trigger() with one reference; acquire() keeps it beyond the
// handler's return. It is answered once, from any thread; answering does not consume it. The last release of an
// unanswered request answers `canceled`. One thread at a time uses it, but canceled() and release().
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_wheel.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/arrival.hpp>
#include <cinnabar/na/op.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/proc_coder.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::rpc {

class Context;
class ContextCore;
class Request;
struct CallerAccount;
struct RequestTransfer;
struct Handler;
struct RpcLend;
struct PeerBook;

// Runs once, from trigger(), when the origin has canceled or, unless it is one-way, is gone, if that happens before the
// last release.
using CancelFunction = void (*)(Request& request, void* user) noexcept;

// Runs once, from trigger(), when the reply has left (ok) or never will (peer_lost, canceled, closed, ...).
using SentFunction = void (*)(Request& request, Errc result, void* user) noexcept;

class CINNABAR_API Request : public AlignedPoolSlot {
  public:
    Request() = default;

    // For the layer above; not touched here.
    void* user_data = nullptr;
    // The same: when its handler began. Snapshots show for how long it has run.
    void begins(TimeUs now) noexcept {
        began_.store(static_cast<std::uint32_t>(now >> 10) | 1, std::memory_order_relaxed);
        if (timed()) [[unlikely]]
            handler_us_ = now;
    }

    [[nodiscard]] RpcId rpc() const noexcept { return rpc_; }
    [[nodiscard]] ProviderId provider() const noexcept { return provider_; }
    // Who called; stays until the request goes. Serves for calls back, too.
    [[nodiscard]] const na::Addr& source() const noexcept { return source_; }
    // The peer it came from, for bulk::TransferArgs::connected: what was lent with this call was told to that
    // connection alone. Owner of the context only.
    [[nodiscard]] na::Peer& peer() const noexcept;
    // Whether the kernel reports that it comes from a process of this one's user on this host, which shm alone can
    // tell. False once its connection has ended. Any thread.
    [[nodiscard]] bool from_own_user() const noexcept;
    [[nodiscard]] bool one_way() const noexcept { return one_way_; }
    // On the context's clock; time_never when the origin set none.
    [[nodiscard]] TimeUs deadline() const noexcept { return deadline_; }
    [[nodiscard]] const TraceContext& trace() const noexcept { return trace_; }       // the origin's; all zero if none
    [[nodiscard]] bool traced() const noexcept { return (asks_ & asks_trace) != 0; }  // whether it has one
    // The place that the origin claims to have been given here (respond_error with `overloaded`); 0: none. Not
    // verified.
    [[nodiscard]] std::uint64_t place() const noexcept { return whole_way() ? place_ : 0; }
    [[nodiscard]] Context& context() const noexcept;

    // The encoded arguments, 8-byte aligned; valid until detach, release_input or the last release.
    [[nodiscard]] ConstBytes input() const noexcept { return input_; }
    // Call it before the handler returns if the request is kept longer: gives the receive slot back to the transport,
    // which may copy the arguments elsewhere. Without it a slow handler holds a slot that others could use.
    void detach() noexcept;
    void release_input() noexcept;
    // Whether the arguments lie where detach() does not move them.
    [[nodiscard]] bool input_stays() const noexcept { return !arriving_ && !holds_slot(); }

    // Counts memory that decoded arguments take, until the request goes, for the peer that it came from: of
    // Options::decoded_bytes_max. too_large: more than one peer can ever have; overloaded: others, or others of its
    // requests, have it.
    [[nodiscard]] Errc charge_memory(std::uint64_t bytes) noexcept;
    // For decode(input()): by these it counts what it allocates.
    [[nodiscard]] DecodeLimits decode_limits() noexcept {
        DecodeLimits limits;
        limits.payer = this;
        limits.charge = [](void* payer, std::size_t bytes) noexcept {
            return static_cast<Request*>(payer)->charge_memory(bytes);
        };
        return limits;
    }

    // Where a result is encoded, in place of the reply message; null span when memory is short (then answer an error).
    [[nodiscard]] Bytes output_room() noexcept;
    // A result of `bytes` that does not fit there: a buffer of its own, which the origin pulls. Errors as
    // Call::grow_input.
    [[nodiscard]] Errc grow_output(std::size_t bytes, Bytes& room) noexcept;

    // Answers with the first `output_bytes` of the room. `shape` is that of the result type. Requires: not answered.
    // `sent` is told when the reply has left, and keeps the request until then; not after the context is closed.
    void respond(std::size_t output_bytes, std::uint16_t shape = 0, SentFunction sent = nullptr,
                 void* user = nullptr) noexcept;
    // Answers with an error. For Errc::application: `app_code`, and a text of which 256 bytes are sent.
    void respond_error(Errc code, std::uint32_t app_code = 0, std::string_view text = {}) noexcept;
    [[nodiscard]] bool answered() const noexcept { return answered_.load(std::memory_order_acquire); }

    // Whether nobody waits for the answer any more: canceled, peer lost (unless it is one-way), or past its deadline.
    // Any thread.
    [[nodiscard]] bool canceled() const noexcept;
    // Asks to be told. Requires: not set yet. It may be queued to run at once. After the last release it never runs; a
    // last release on another thread may overlap with it, so what `user` points to must be guarded or outlive it. Once
    // the request is answered nobody is told. Not while another thread answers.
    void on_cancel(CancelFunction function, void* user) noexcept;

    // Starts a bulk transfer under this request: with its deadline, ended by its cancellation, and against its source
    // unless the descriptor is bound. As Mover::start; release it through Context::mover().
    [[nodiscard]] bulk::Transfer* transfer(bulk::TransferArgs args, bulk::TransferDone done, void* user,
                                           bulk::TransferProgress progress, Errc& why) noexcept;

    // A part of memory that the origin lent with this request in place, for reading, if it lies on this host and was
    // allocated by its library; what came along with the request is shown where that is, until release_input. Errors:
    // as na::Context::view; permission: the memory is somebody else's, or not for reading; unreachable: it was not lent
    // on the transport that the request came by; canceled. For each but permission and canceled, pull it instead.
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(const bulk::RemoteRegion& remote, std::uint64_t offset,
                                                         std::uint64_t bytes);

    void acquire() noexcept {
        if (arriving_) outlive_arrival();
        references_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept;

  private:
    friend class Access;
    friend class Context;
    friend class ContextCore;
    friend class Control;
    friend class CreditPool;
    friend class LargeValues;
    friend class Origin;
    friend class Peers;
    friend class Serving;
    friend class Target;
    friend class RequestTable;
    friend struct PeerBook;

    // Arguments of at most this many bytes are copied, so that they hold no receive slot.
    static constexpr std::size_t small_bytes_max = 192;

    static constexpr std::uint8_t asks_trace = 1;
    static constexpr std::uint8_t asks_times = 4;
    [[nodiscard]] bool timed() const noexcept { return (asks_ & asks_times) != 0; }

    // Set by whoever uses the request at the moment, the owner of the context or the handler's thread.
    [[nodiscard]] bool whole_way() const noexcept { return is_whole_way_.load(std::memory_order_relaxed); }
    void go_whole_way() noexcept { is_whole_way_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool holds_slot() const noexcept { return whole_way() && kept_; }
    [[nodiscard]] bool output_is_large() const noexcept { return whole_way() && large_output_; }
    [[nodiscard]] bool output_is_lent() const noexcept { return whole_way() && lend_; }

    [[nodiscard]] bool nothing_beside_message() const noexcept {
        return op_.state == na::OpState::idle && !kept_ && !large_input_ && !large_output_ && !pull_ && !lend_ &&
               !on_cancel_.load(std::memory_order_relaxed) && !on_sent_ && !transfers_ && !reply_posted_ && !stalled_ &&
               !cancel_told_ && decoded_bytes_ == 0 && !counted_by_;
    }

    void post_answer() noexcept;
    void outlive_arrival() noexcept;
    // False: the last reference is gone.
    [[nodiscard]] bool acquire_if_held() noexcept;

    // What a request by the short way uses.
    ContextCore* core_ = nullptr;
    PeerBook* book_ = nullptr;
    const Handler* handler_ = nullptr;
    na::Port* port_ = nullptr;
    na::Message* message_ = nullptr;
    std::uint64_t tag_ = 0;
    TimeUs deadline_ = time_never;
    Work work_;  // to the handler, then the reply
    ConstBytes input_;
    na::Addr source_;
    RpcId rpc_ = 0;
    ListLink<Request> link_;         // held, in its peer's book
    Request* tag_next_ = nullptr;    // in RequestTable
    Request** tag_place_ = nullptr;  // what points to it there
    std::atomic<std::uint32_t> references_{0};
    std::uint32_t output_bytes_ = 0;
    std::uint16_t shape_ = 0;  // beside the provider, as in the frame
    ProviderId provider_ = 0;
    std::uint16_t output_shape_ = 0;
    Errc answer_ = Errc::ok;
    // It uses, or has used, what is not for the short way; it is one-way, or orphaned.
    std::atomic<bool> is_whole_way_{false};
    bool one_way_ = false;
    std::uint8_t asks_ = 0;  // what is unusual: trace_ is set; the answer is to say how long it was here
    bool credit_returned_ = false;
    bool reply_done_ = false;
    bool users_gone_ = false;
    bool orphaned_ = false;      // its connection is gone: no reply is sent
    bool reply_refers_ = false;  // the reply that is handed over holds a reference
    bool arriving_ = false;      // its handler runs where it was read (on_arrival.cpp)
    std::atomic<bool> answered_{false};
    std::atomic<bool> canceled_{false};
    // When its handler began, in 1,024 microseconds, with the lowest bit set; 0: not yet. It fills a gap.
    std::atomic<std::uint32_t> began_{0};
    alignas(8) std::array<std::byte, small_bytes_max> small_input_;  // not filled before it is used
    TraceContext trace_;
    TimeUs came_us_ = 0;     // of one that is timed
    TimeUs handler_us_ = 0;  // the same: when its handler began; 0: not yet

    Work release_work_;  // the last release, where the reply is no reference

    // What is idle and empty while whole_way() is false.
    bool reply_posted_ = false;
    bool stalled_ = false;  // its large arguments did not come
    bool cancel_told_ = false;
    Errc sent_result_ = Errc::ok;
    na::Kept kept_;
    na::Op op_;    // the reply
    Timer timer_;  // how long large arguments are waited for, or a large result is kept
    bulk::Region large_input_;
    bulk::Region large_output_;
    std::uint64_t decoded_bytes_ = 0;            // charge_memory()
    std::shared_ptr<CallerAccount> counted_by_;  // where its caller has a quota
    bulk::RemoteRegion remote_input_;
    bulk::Transfer* pull_ = nullptr;
    StallWatch watch_;         // of the large arguments
    RpcLend* lend_ = nullptr;  // of a large result
    std::atomic<CancelFunction> on_cancel_{nullptr};
    void* on_cancel_user_ = nullptr;
    SentFunction on_sent_ = nullptr;
    void* on_sent_user_ = nullptr;
    RequestTransfer* transfers_ = nullptr;  // under way, a list
    Work cancel_work_;                      // telling the handler
    std::uint64_t place_ = 0;               // 0: none
    Work sent_work_;                        // telling that the reply has left
};

}  // namespace cinnabar::rpc
