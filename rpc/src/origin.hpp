// SPDX-License-Identifier: BSD-3-Clause
// Calls of this side: made and freed (call.cpp), sent (send.cpp), ended once and delivered (finish.cpp). Owner of the
// context only, except for functions marked "any thread" or "trigger".
#pragma once

#include "peer_book.hpp"

#include <cinnabar/base/spare_slot.hpp>

namespace cinnabar::rpc {

// The spare slot of the context whose callbacks this thread runs. initial-exec: accessed without a function call, even
// from a shared library.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareSlot<Call> spare_call;

// The call that is the `user` of a work, timer or operation.
[[nodiscard]] inline Call& call_of(void* user) noexcept { return *static_cast<Call*>(user); }

class Origin {
  public:
    Origin(ContextCore& core, ThreadUse threads, std::uint32_t calls_max, std::uint32_t messages_retained) noexcept;

    [[nodiscard, gnu::noinline]] Call* make(const na::Addr& to, Errc& why) noexcept;
    // As make(), but also while the engine drains: for a call that moves a chunk of far memory (far_moves.hpp).
    [[nodiscard]] Call* make_for_call_in_progress(const na::Addr& to, Errc& why) noexcept;
    // Finds the call with that id, if the call waits for an answer of this peer, or has ended without an answer; null:
    // there is none.
    [[nodiscard, gnu::always_inline]] Call* find(std::uint64_t id, const PeerBook* book) const noexcept {
        Call* const call = calls.at(static_cast<std::uint32_t>(id & ((1u << call_slot_bits) - 1)));
        return call && call->id() == id && call->book_ == book ? call : nullptr;
    }
    void submit(Call& call) noexcept;
    // False: the call cannot be sent now.
    [[nodiscard, gnu::noinline]] bool send(Call& call) noexcept;
    void on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept;

    void finish(Call& call, Errc result) noexcept;
    // Call before finish() of a call whose connection could not be made: its text says why, if the transport knows.
    static void tell_why_lost(Call& call, const na::Peer& peer) noexcept;
    void time_out(Call& call) noexcept { finish(call, Errc::timed_out); }
    void finish_answered(Call& call, PeerBook& book, TimeUs now) noexcept;
    void complete_if_over(Call& call) noexcept;
    void cancel_requested(Call& call) noexcept;
    // Call when the target had no slot for the request.
    void refused(PeerBook& book, std::uint64_t id) noexcept;
    void deliver(Call& call) noexcept;  // trigger
    void free(Call& call) noexcept;
    void reuse(Call& call) noexcept;  // any thread
    void renew(Call& call) noexcept;  // any thread

    // Records for Call::waits() what the call waits for, unless that was recorded before the connection was closed
    // (snapshot.cpp).
    void note_waits(Call& call) noexcept;

    SlotPool<Call> calls;

  private:
    [[nodiscard]] Call* take(const na::Addr& to, Errc& why) noexcept;
    [[nodiscard, gnu::cold, gnu::noinline]] Errc prepare_memory(Call& call) noexcept;
    [[gnu::noinline]] static void confine_memory(const Call& call) noexcept;
    [[nodiscard]] std::uint32_t write_request(Call& call, const PeerBook& book) const noexcept;
    void ask_for_times(Call& call) const noexcept;
    [[nodiscard]] bool send_plain(Call& call, PeerBook& book, std::uint64_t left) noexcept;
    [[nodiscard]] bool leaves_at_once(const Call& call, PeerBook& book, std::uint32_t bytes) noexcept;
    [[nodiscard, gnu::noinline]] bool send_whole_way(Call& call, std::uint32_t bytes) noexcept;
    void request_left(Call& call, PeerBook& book) noexcept;
    void note_sent(Call& call, PeerBook& book) noexcept;
    [[nodiscard]] Errc post_request(Call& call, std::uint32_t bytes) noexcept;
    [[nodiscard]] std::uint64_t time_left(const Call& call) const noexcept;
    void request_sent(Call& call) noexcept;

    void hand_to_caller(Call& call) noexcept;
    void let_go(Call& call, bool unanswered, bool target_may_know) noexcept;
    void cancel_if_under_way(Call& call) noexcept;
    [[gnu::noinline]] static void renew_whole_way(Call& call) noexcept;

    ContextCore& core_;
    const std::uint32_t messages_retained_;
};

}  // namespace cinnabar::rpc
