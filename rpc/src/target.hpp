// SPDX-License-Identifier: BSD-3-Clause
// Unexpected messages: requests and control messages. A request is passed to its handler, or answered with an error.
// Owner of the context only.
#pragma once

#include "early_cancels.hpp"
#include "frame.hpp"
#include "peer_book.hpp"
#include "request_table.hpp"

#include <cinnabar/rpc/options.hpp>
#include <cinnabar/rpc/policy.hpp>

namespace cinnabar::rpc {

struct Handler;
class PlainRequest;

class Target {
  public:
    Target(ContextCore& core, const Options& options) noexcept;

    void on_unexpected(na::Arrival& arrival) noexcept;
    // Passes the request to its handler through the completion queue.
    void start(Request& request) noexcept;
    // Any thread.
    void run_urgent() noexcept;
    // While `all`, no handler runs on arrival.
    void queue_all(bool all) noexcept { queues_all_ = all; }
    // The request of that peer with that id; null: it is not here, or arrived on an earlier connection.
    [[nodiscard]] Request* find(PeerBook& book, std::uint64_t tag) noexcept;
    // For a handler that runs on arrival and keeps its request (on_arrival.cpp).
    void keep_beyond_arrival(Request& request) noexcept;
    [[nodiscard]] const Request* arriving() const noexcept { return at_hand_; }
    [[nodiscard, gnu::always_inline]] std::uint32_t taken() const noexcept {
        return requests.taken() - (at_hand_ ? 1 : 0);
    }
    // Handles a cancel, by which the peer says that it no longer needs the answer. If the request is not here, either
    // it was answered, and that answer, which is on its way, has the same effect as `released`; or the transport is
    // unordered, and the request has not arrived yet.
    void cancel(PeerBook& book, std::uint64_t tag) noexcept;
    // Call when the connection to that peer was lost.
    void forget_canceled(const na::Peer& peer) noexcept { early_cancels_.forget(peer); }
    // From now on admit() checks each request, and refuses it if the context is closing.
    void close_short_way() noexcept { is_short_way_closed_ = true; }
    void close() noexcept;

    SlotPool<Request> requests;
    RequestTable table;  // of open connections; the newest requests of a peer may be missing (see find())

  private:
    [[gnu::noinline]] void on_first_message(na::Arrival& arrival) noexcept;
    [[nodiscard]] bool accept_plain(PeerBook& book, na::Arrival& arrival) noexcept;
    void begin_plain(Request& request, PeerBook& book, const na::Arrival& arrival, const Handler& handler) noexcept;
    [[gnu::noinline]] void accept(PeerBook& book, na::Arrival& arrival,
                                  const Policy::Verdict* verdict = nullptr) noexcept;
    static void copy_input(Request& request, ConstBytes payload) noexcept;
    [[nodiscard]] TimeUs deadline_of(std::uint64_t time_left_us) const noexcept;
    void describe(Request& request, const RequestHeader& header, const Handler* handler) noexcept;
    void describe_unusual(Request& request, std::uint16_t flags, const TraceContext& trace) noexcept;
    static void begin_times(Request& request) noexcept;
    [[gnu::noinline]] void begin_unusual(Request& request, PlainRequest frame) noexcept;
    [[nodiscard]] Errc admit(Request& request, const RequestHeader& header) noexcept;
    [[nodiscard]] static Errc take_input(Request& request, na::Arrival& arrival, ConstBytes payload) noexcept;
    [[nodiscard]] std::uint32_t in_handlers() const noexcept;
    [[nodiscard]] bool crowded(const PeerBook& book) const noexcept;
    void begin(Request& request, PeerBook& book, const na::Arrival& arrival) noexcept;
    void start_urgent(Request& request) noexcept;
    void run_on_arrival(Request& request, ConstBytes payload) noexcept;

    ContextCore& core_;
    EarlyCancels early_cancels_;
    bool is_short_way_closed_ = false;  // also set when there are early cancels
    WorkQueue urgent_;                  // requests whose handlers are urgent
    WorkItem ring_;                     // in the completion queue while rings_
    bool rings_ = false;
    bool queues_all_ = false;
    Request* at_hand_ = nullptr;  // reserved, but in use only while a handler runs on arrival
    // While at most this many requests are in handlers, crowded() is not checked: one peer may have all of them.
    const std::uint32_t uncrowded_max_;
};

}  // namespace cinnabar::rpc
