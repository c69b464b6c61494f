// SPDX-License-Identifier: BSD-3-Clause
// What arrives unasked: requests and control messages. A request is accepted and goes to its handler, or is answered
// with an error. Owner of the context only.
#pragma once

#include "frame.hpp"
#include "peer_book.hpp"
#include "request_table.hpp"
#include "tombstones.hpp"

#include <cinnabar/rpc/options.hpp>
#include <cinnabar/rpc/policy.hpp>

namespace cinnabar::rpc {

struct Handler;

class Target {
  public:
    Target(ContextCore& core, const Options& options) noexcept;

    void on_unexpected(na::Arrival& arrival) noexcept;
    // To the handler, by way of the completion queue.
    void start(Request& request) noexcept;
    // One of that peer's, by the id that it has there; null: it is not here, or came by an earlier connection.
    [[nodiscard]] Request* find(PeerBook& book, std::uint64_t tag) noexcept;
    // A handler that runs where the request was read keeps it (on_arrival.cpp).
    void keep_beyond_arrival(Request& request) noexcept;
    [[nodiscard]] const Request* arriving() const noexcept { return at_hand_; }
    [[nodiscard, gnu::always_inline]] std::uint32_t taken() const noexcept {
        return requests.taken() - (at_hand_ ? 1 : 0);
    }
    // The peer does not want the answer any more. A request that is not here was answered already, and the answer,
    // which is on its way, says the same as `released`; or, on an unordered transport, the request is still to come.
    void cancel(PeerBook& book, std::uint64_t tag) noexcept;
    // The connection is lost.
    void forget_canceled(const na::Peer& peer) noexcept { tombstones_.forget(peer); }
    // From now on each request is looked at by admit(), which turns it away if the context is closing.
    void close_short_way() noexcept { is_short_way_closed_ = true; }
    void close() noexcept;

    SlotPool<Request> requests;
    RequestTable table;  // of connections that are open; the newest of a peer may be missing (find)

  private:
    [[gnu::noinline]] void on_first_message(na::Arrival& arrival) noexcept;
    [[nodiscard]] bool accept_plain(PeerBook& book, na::Arrival& arrival) noexcept;
    void begin_plain(Request& request, PeerBook& book, const na::Arrival& arrival, const Handler& handler) noexcept;
    [[gnu::noinline]] void accept(PeerBook& book, na::Arrival& arrival,
                                  const Policy::Verdict* verdict = nullptr) noexcept;
    static void copy_input(Request& request, ConstBytes payload) noexcept;
    [[nodiscard]] TimeUs deadline_of(std::uint64_t time_left_us) const noexcept;
    void describe(Request& request, const RequestHeader& header, const Handler* handler) noexcept;
    [[gnu::noinline]] void describe_unusual(Request& request, std::uint16_t flags, const TraceContext& trace) noexcept;
    [[nodiscard]] Errc admit(Request& request, const RequestHeader& header) noexcept;
    [[nodiscard]] static Errc take_input(Request& request, na::Arrival& arrival, ConstBytes payload) noexcept;
    [[nodiscard]] std::uint32_t in_handlers() const noexcept;
    [[nodiscard]] bool crowded(const PeerBook& book) const noexcept;
    void begin(Request& request, PeerBook& book, const na::Arrival& arrival) noexcept;
    void run_on_arrival(Request& request, ConstBytes payload) noexcept;

    ContextCore& core_;
    Tombstones tombstones_;
    bool is_short_way_closed_ = false;  // where there are tombstones, too
    Request* at_hand_ = nullptr;        // taken, and in use only while a handler runs on arrival
    // So many requests in handlers are never too many, whoever sent them (crowded()).
    const std::uint32_t uncrowded_max_;
};

}  // namespace cinnabar::rpc
