// SPDX-License-Identifier: BSD-3-Clause
// A call as seen by its target. trigger() passes the request to the handler with one reference; acquire() keeps the
// request after the handler has returned. The call is answered once, from any thread; answering does not release the
// request. If the last reference is released without an answer, the call is answered with `canceled`. Only one thread
// at a time may use a request, except for canceled() and release().
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
#include <cinnabar/rpc/quota_refusal.hpp>
#include <cinnabar/rpc/request_asks.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cinnabar::rpc {

class CallerAccount;
class Context;
class ContextCore;
class Request;
struct RequestTransfer;
struct Handler;
struct Payer;
struct RpcLend;
struct PeerBook;

// Runs once, from trigger(), if the origin canceled the call, or the connection was lost, before the last release. A
// lost connection does not cancel a one-way request.
using CancelFunction = void (*)(Request& request, void* user) noexcept;

// Runs once, from trigger(), when the reply was sent (ok), or will never be (peer_lost, canceled, closed, ...).
using SentFunction = void (*)(Request& request, Errc result, void* user) noexcept;

class CINNABAR_API Request : public AlignedPoolSlot {
  public:
    Request() = default;

    // For the layer above; the request does not use it.
    void* user_data = nullptr;
    // For the layer above: records when the handler began, so that snapshots show for how long it has run.
    void begins(TimeUs now) noexcept {
        since_.store(static_cast<std::uint32_t>(now >> 10) | 1, std::memory_order_relaxed);
        if (asks_.timed()) [[unlikely]]
            handler_us_ = now;
    }
    // For the layer above: records when the handler ended. Without this call, writing a reply with times reads the
    // clock once more.
    void ends(TimeUs now) noexcept {
        if (asks_.timed()) [[unlikely]]
            ended_us_ = now;
    }

    [[nodiscard]] RpcId rpc() const noexcept { return rpc_; }
    [[nodiscard]] ProviderId provider() const noexcept { return provider_; }
    // The caller, also for calls back to it; valid until the request is freed.
    [[nodiscard]] const na::Addr& source() const noexcept { return source_; }
    // Returns the peer that sent the request, for bulk::TransferArgs::connected: memory lent with this call was made
    // known only on the connection of that peer. Owner of the context only.
    [[nodiscard]] na::Peer& peer() const noexcept;
    // Whether the kernel reports that the caller is a process of the same user on this host. False over all transports
    // but shm, and after the connection has ended. Any thread.
    [[nodiscard]] bool from_own_user() const noexcept;
    [[nodiscard]] bool one_way() const noexcept { return one_way_; }
    // On the context's clock; time_never if the origin set none.
    [[nodiscard]] TimeUs deadline() const noexcept { return deadline_; }
    [[nodiscard]] const TraceContext& trace() const noexcept { return trace_; }  // the origin's; all zero: none
    [[nodiscard]] RequestAsks asks() const noexcept { return asks_; }
    // The place that this target gave out earlier (respond_error with `overloaded`), according to the origin; 0: none.
    // Not verified.
    [[nodiscard]] std::uint64_t place() const noexcept { return whole_way() ? whole_.place : 0; }
    [[nodiscard]] Context& context() const noexcept;

    // The encoded arguments, 8-byte aligned; valid until detach(), release_input() or the last release.
    [[nodiscard]] ConstBytes input() const noexcept { return input_; }
    // Returns the receive slot to the transport, which may copy the arguments elsewhere. Call it before the handler
    // returns if the request is kept for longer; otherwise it holds a slot that other requests could use.
    void detach() noexcept;
    void release_input() noexcept;
    // Whether detach() leaves the arguments where they are.
    [[nodiscard]] bool input_stays() const noexcept { return !arriving_ && !holds_slot(); }

    // Charges the caller for the memory of decoded arguments, until the request is freed, within
    // Options::decoded_bytes_max. too_large: a single peer may never use that much. overloaded: the memory is in use by
    // other peers or by other requests of this peer, or the caller's quota does not allow that much now. If the quota
    // never allows that much, the error is too_large. If a quota has refused, respond_error() without a text tells the
    // caller about the quota.
    [[nodiscard]] Errc charge_memory(std::uint64_t bytes) noexcept;
    // For decode(input()): charges the caller for the memory that decoding allocates, by charge_memory().
    [[nodiscard]] DecodeLimits decode_limits() noexcept {
        DecodeLimits limits;
        limits.payer = this;
        limits.charge = [](void* payer, std::size_t bytes) noexcept {
            return static_cast<Request*>(payer)->charge_memory(bytes);
        };
        return limits;
    }

    // The room in the reply message for the encoded result. Empty: out of memory; then answer with an error.
    [[nodiscard]] Bytes output_room() noexcept;
    // Provides a separate buffer for a result of `bytes` that does not fit in output_room(); the origin pulls the
    // result from it. Errors: as Call::grow_input.
    [[nodiscard]] Errc grow_output(std::size_t bytes, Bytes& room) noexcept;

    // Answers with the first `output_bytes` of the room that output_room() or grow_output() has returned. `shape`: of
    // the result type. Requires: not answered. `sent` runs when the reply was sent, and the request stays valid until
    // then; `sent` does not run if the context is closed.
    void respond(std::size_t output_bytes, std::uint16_t shape = 0, SentFunction sent = nullptr,
                 void* user = nullptr) noexcept;
    // Answers with an error. For Errc::application: `app_code` and a text, of which at most 256 bytes are sent. If
    // neither app_code nor text is given for `overloaded` or `too_large`, and a quota has refused bytes to this
    // request, the text names that quota.
    void respond_error(Errc code, std::uint32_t app_code = 0, std::string_view text = {}) noexcept;
    [[nodiscard]] bool answered() const noexcept { return answered_.load(std::memory_order_acquire); }

    // Whether the answer is no longer wanted: the call was canceled, the connection was lost (except for one-way
    // requests), or the deadline has passed. Any thread.
    [[nodiscard]] bool canceled() const noexcept;
    // Sets the function to call when the request is canceled. Requires: none was set. If the request is canceled
    // already, the function is queued at once. The function never runs after the last release, but a last release on
    // another thread may overlap with it, so the data of `user` must be guarded or outlive the function. The function
    // does not run once the request was answered. Do not call while another thread answers.
    void on_cancel(CancelFunction function, void* user) noexcept;

    // Starts a bulk transfer that belongs to this request: it has the request's deadline, is canceled with the request,
    // and its peer is the request's source unless the descriptor is bound to an owner. Otherwise as Mover::start;
    // release the transfer through Context::mover().
    [[nodiscard]] bulk::Transfer* transfer(bulk::TransferArgs args, bulk::TransferDone done, void* user,
                                           bulk::TransferProgress progress, Errc& why) noexcept;

    // Maps a part of memory that the origin lent with this request, for reading, without copying; the memory must be on
    // this host and allocated by the origin's library. Memory that travelled inside the descriptor is shown in place,
    // for as long as input() is valid. Errors: as na::Context::view; permission: the memory belongs to another process,
    // or was not lent for reading; unreachable: the memory was not lent on the transport that the request arrived on;
    // canceled. After any error but permission and canceled, pull the memory instead.
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
    friend class FarMoves;
    friend class LargeValues;
    friend class Origin;
    friend class Peers;
    friend class Serving;
    friend class Target;
    friend class RequestTable;
    friend struct PeerBook;
    friend Payer payer_of(Request& request) noexcept;

    // The state of the present use of the slot; reset for the next use.
    struct Use {
        bool credit_returned = false;
        bool reply_done = false;
        bool users_gone = false;
        bool orphaned = false;  // its connection was lost: no reply is sent
    };
    // The same for the slow path; reset only after a use that took the slow path.
    struct WholeWay {
        std::uint64_t place = 0;  // 0: none
        QuotaRefusal refusal;     // of the bytes that it asked for last, by the quota of its caller
        bool reply_posted = false;
        bool stalled = false;  // the pull of its large arguments stalled
        bool cancel_told = false;
    };

    // Arguments of at most this many bytes are copied out of the receive slot.
    static constexpr std::size_t small_bytes_max = 192;

    // The flag is set by the present user of the request: the owner of the context, or the handler's thread.
    [[nodiscard]] bool whole_way() const noexcept { return is_whole_way_.load(std::memory_order_relaxed); }
    void go_whole_way() noexcept { is_whole_way_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool holds_slot() const noexcept { return whole_way() && kept_; }
    [[nodiscard]] bool output_is_large() const noexcept { return whole_way() && large_output_; }
    [[nodiscard]] bool output_is_lent() const noexcept { return whole_way() && lend_; }

    [[nodiscard]] bool nothing_beside_message() const noexcept {
        return op_.state == na::OpState::idle && !kept_ && !large_input_ && !large_output_ && !pull_ && !lend_ &&
               !on_cancel_.load(std::memory_order_relaxed) && !on_sent_ && !transfers_ && !whole_.reply_posted &&
               !whole_.stalled && !whole_.cancel_told && decoded_bytes_ == 0 && !counted_by_;
    }

    void post_answer() noexcept;
    void outlive_arrival() noexcept;
    // False: the last reference was released.
    [[nodiscard]] bool acquire_if_held() noexcept;

    // Fields of the fast path (the "short way").
    ContextCore* core_ = nullptr;
    PeerBook* book_ = nullptr;
    const Handler* handler_ = nullptr;
    na::Port* port_ = nullptr;
    na::Message* message_ = nullptr;
    std::uint64_t tag_ = 0;
    TimeUs deadline_ = time_never;
    WorkItem work_;  // to pass it to the handler, then to send the reply
    ConstBytes input_;
    na::Addr source_;
    RpcId rpc_ = 0;
    ListLink<Request> link_;        // in PeerBook::held
    Request* tag_next_ = nullptr;   // in RequestTable
    Request** tag_link_ = nullptr;  // the pointer to this request in RequestTable
    std::atomic<std::uint32_t> references_{0};
    std::uint32_t output_bytes_ = 0;
    std::uint16_t shape_ = 0;  // placed beside the provider, as in the frame
    ProviderId provider_ = 0;
    std::uint16_t output_shape_ = 0;
    Errc answer_ = Errc::ok;
    // Uses, or has used, the slow path (the "whole way"); or is one-way or orphaned.
    std::atomic<bool> is_whole_way_{false};
    bool one_way_ = false;
    RequestAsks asks_;
    Use use_;
    bool reply_refers_ = false;  // the reply that is submitted to the owner holds a reference
    bool arriving_ = false;      // its handler runs on arrival, inside progress() (on_arrival.cpp)
    std::atomic<bool> answered_{false};
    std::atomic<bool> canceled_{false};
    // When the handler began (lowest bit set) or, before that, when the request arrived (lowest bit clear), in units of
    // 1,024 microseconds. Placed here to fill a gap.
    std::atomic<std::uint32_t> since_{0};
    alignas(8) std::array<std::byte, small_bytes_max> small_input_;  // uninitialized until it is used
    TraceContext trace_;
    TimeUs came_us_ = 0;     // arrival time, if timed or traced
    TimeUs handler_us_ = 0;  // when its handler began, if timed; 0: not yet
    TimeUs ended_us_ = 0;    // when its handler ended, if timed; 0: not yet, or not reported
    // Set if the request is timed. transfers_us_: for how long transfers were in progress before the present ones.
    // transfers_since_us_: since when the present transfers are in progress.
    TimeUs transfers_us_ = 0;
    TimeUs transfers_since_us_ = 0;

    WorkItem release_work_;  // for the last release, unless the reply holds a reference

    // Fields of the slow path: idle and empty while whole_way() is false.
    WholeWay whole_;
    Errc sent_result_ = Errc::ok;
    na::Kept kept_;
    na::Op op_;         // the reply
    WheelTimer timer_;  // detects a stall of large arguments, or limits how long a large result is kept
    bulk::Region large_input_;
    bulk::Region large_output_;
    std::uint64_t decoded_bytes_ = 0;            // charged by charge_memory()
    std::shared_ptr<CallerAccount> counted_by_;  // set if the caller has a quota
    bulk::RemoteRegion remote_input_;
    bulk::Transfer* pull_ = nullptr;
    StallWatch watch_;         // of the pull of large arguments
    RpcLend* lend_ = nullptr;  // of a large result
    std::atomic<CancelFunction> on_cancel_{nullptr};
    void* on_cancel_user_ = nullptr;
    SentFunction on_sent_ = nullptr;
    void* on_sent_user_ = nullptr;
    RequestTransfer* transfers_ = nullptr;  // a list of transfers in progress
    WorkItem cancel_work_;                  // runs the CancelFunction
    WorkItem sent_work_;                    // runs the SentFunction
};

}  // namespace cinnabar::rpc
