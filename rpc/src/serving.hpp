// SPDX-License-Identifier: BSD-3-Clause
// Requests from handler to reply: run, answered once, released, freed. Owner of the context only, except for functions
// marked "trigger" or "any thread".
#pragma once

#include "frame.hpp"
#include "peer_book.hpp"

#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/rpc/options.hpp>

namespace cinnabar::rpc {

// Links a bulk transfer to the request that has started it, and keeps that request's callbacks.
struct RequestTransfer : PoolSlot {
    Request* request = nullptr;
    bulk::Transfer* transfer = nullptr;
    bulk::TransferDone done = nullptr;
    bulk::TransferProgress progress = nullptr;
    void* user = nullptr;
    RequestTransfer* next = nullptr;
};

// The request that is the `user` of a work, timer or operation.
[[nodiscard]] inline Request& request_of(void* user) noexcept { return *static_cast<Request*>(user); }

class Serving {
  public:
    Serving(ContextCore& core, const Options& options) noexcept;

    void run_handler(Request& request) noexcept;        // trigger
    static void run_urgent(Request& request) noexcept;  // any thread
    // Answers without a handler: the request has no references.
    void answer_now(Request& request, Errc code) noexcept;
    // For a request that runs on arrival. False: use post_reply().
    [[nodiscard]] bool reply_at_once(Request& request) noexcept;
    [[nodiscard]] bool reply_short_way(Request& request) noexcept;
    void post_reply(Request& request) noexcept;
    void users_gone(Request& request) noexcept;
    void cancel(Request& request) noexcept;
    void tell_canceled(Request& request) noexcept;
    void free_if_over(Request& request) noexcept;
    void free(Request& request) noexcept;
    static void drop_message(Request& request) noexcept;
    void transfer_finished(RequestTransfer& node) noexcept;
    // Call when the first transfer of a timed request begins (`begin`), or when the last one has ended.
    [[gnu::cold, gnu::noinline]] void note_transfers(Request& request, bool begin) const noexcept;

    SlotPool<RequestTransfer> transfers;

  private:
    // In post_reply.cpp.
    [[nodiscard, gnu::noinline]] ConstBytes write_reply(Request& request, std::uint16_t given) const noexcept;
    [[nodiscard]] ConstBytes write_timed_reply(Request& request, ReplyHeader& header) const noexcept;
    [[nodiscard, gnu::cold, gnu::noinline]] ConstBytes add_unusual_times(Request& request,
                                                                         ConstBytes reply) const noexcept;
    [[nodiscard, gnu::noinline]] ConstBytes add_times(Request& request, ConstBytes reply) const noexcept;
    [[nodiscard]] TargetTimes times_of(const Request& request, bool whole_way) const noexcept;
    [[nodiscard]] Errc post_reply_op(Request& request, ConstBytes reply) noexcept;
    void post_reply_later(Request& request) noexcept;
    void reply_sent(Request& request) noexcept;
    void reply_failed(Request& request) noexcept;
    void reply_over(Request& request, Errc result) noexcept;

    void end_whole_way(Request& request) noexcept;

    ContextCore& core_;
};

}  // namespace cinnabar::rpc
