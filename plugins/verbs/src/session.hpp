// SPDX-License-Identifier: BSD-3-Clause
// A connection between two contexts and its queue pair, from the dial or the incoming request until the device has
// returned the last work request. Sessions live in a pool whose memory lives as long as the port. Owner of the context
// only.
#pragma once

#include "bindings.hpp"
#include "cm_events.hpp"
#include "credits.hpp"
#include "device.hpp"
#include "greeting.hpp"
#include "sent_work.hpp"
#include "sign_of_life.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/identity.hpp>
#include <cinnabar/na/session/target_walk.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace cinnabar::verbs {

class VerbsPeer;
class VerbsPort;

// An incoming connection that was not answered yet.
struct Incoming {
    CmId id;
    Greeting greeting;
    std::uint8_t read_depth = 1;   // reads at a time that the other side answers
    std::uint8_t reads_asked = 1;  // reads at a time that the other side wants answered

    // Answers with a Hello that rejects the connection.
    void reject(const na::Hello& why) const noexcept;
};

class Session final : public PoolSlot {
  public:
    // Set-up (session.cpp). Dials the peer's addresses in turn. Ends with VerbsPort::dial_done or dial_failed,
    // never inside this call.
    void dial(VerbsPort& port, VerbsPeer& peer) noexcept;
    // Accepts an incoming connection. False: nothing was sent, `incoming` is unchanged, and this object is closed
    // again.
    [[nodiscard]] bool accept(VerbsPort& port, Incoming& incoming) noexcept;
    void on_cm_event(const CmEvent& event) noexcept;
    // Call when both sides have confirmed the connection: the session with `peer` is open.
    void open(VerbsPeer& peer) noexcept;
    // Ends the session. The port closes it when the device has returned its work requests.
    void drain(Errc why) noexcept;
    // Closes the session now. On return the device has none of its work requests; operations that it had end with
    // `why`.
    void close(Errc why) noexcept;

    // Called when a dial is given up before the answer. True: the session drains, because it cannot be closed now:
    // on iWARP, destroying the id blocks in the kernel until the answer arrives or the kernel's own timeout has passed.
    // False: close it.
    [[nodiscard]] bool leave_unanswered() noexcept;

    // Data (session_send.cpp). Sends what waits, as far as credits and the send queue allow.
    void transmit() noexcept;
    // Call when the work requests up to `place` have completed, the last one with `status`.
    void completed(std::uint32_t place, ibv_wc_status status) noexcept;
    // Sends a probe to the other side's device, unless a completion is expected anyway or something has arrived since
    // `since`. False: completions are expected, and none has arrived for `patience`.
    [[nodiscard]] bool probe(TimeUs since, TimeUs patience) noexcept;

    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    [[nodiscard]] VerbsPort& port() const noexcept { return *port_; }
    [[nodiscard]] VerbsPeer* peer() const noexcept { return peer_; }
    [[nodiscard]] const Greeting& greeting() const noexcept { return greeting_; }
    // The other side's address. Requires: dialled or accepted.
    [[nodiscard]] SocketAddress remote_address() const noexcept;
    [[nodiscard]] std::uint8_t life() const noexcept { return life_; }
    [[nodiscard]] std::uint32_t queue_pair() const noexcept { return queue_pair_; }
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }
    [[nodiscard]] bool idle() const noexcept { return sent_.empty() && !unanswered_; }
    // While the session drains: frees its receive slots for others, once all earlier completions have been read.
    void give_slots_back() noexcept;

    SendCredits sends;
    ReceiveCredits receives;
    TimeUs alive_at = 0;                 // when something last arrived, or a send completed
    std::vector<ibv_wc> held;            // arrivals before the session began, at most promised()
    std::atomic<Errc> broken{Errc::ok};  // set by an asynchronous event, on any thread

    ListLink<Session> output_link;  // in VerbsPort::output()
    bool blocked = false;           // for VerbsPort::output(): always false
    ListLink<Session> drain_link;   // in Liveness
    // In the list of sessions that wait for room in the completion queue, or for an atomic cell.
    ListLink<Session> room_link;
    TimeUs drained_by = 0;

  private:
    struct Batch;
    static constexpr std::uint64_t takes_in = ~std::uint64_t{0};

    void start(VerbsPort& port) noexcept;
    void dial_next(Errc why) noexcept;
    static void names_answered(void* self, Errc why) noexcept;
    void target_is_silent() noexcept;
    [[nodiscard]] int time_left_ms() const noexcept;
    [[nodiscard]] Errc request() noexcept;
    [[nodiscard]] Errc make_queue_pair() noexcept;
    [[nodiscard]] Errc try_queue_pair();
    void set_read_depth(std::uint32_t answered) noexcept;
    void answered(const CmEvent& event) noexcept;
    void destroy_queue_pair() noexcept;
    void time_out() noexcept;

    void announce(Greeting& own) const noexcept;
    [[nodiscard]] bool send_binds() noexcept;
    void send_messages() noexcept;
    [[nodiscard]] bool send_rma() noexcept;
    [[nodiscard]] bool post(Batch& batch) noexcept;
    [[nodiscard]] bool post(ibv_send_wr* first) noexcept;
    ibv_send_wr& enter(ibv_send_wr& request, const Sent& sent) noexcept;
    void ended(const Sent& sent, ibv_wc_status status) noexcept;

    VerbsPort* port_ = nullptr;
    VerbsPeer* peer_ = nullptr;
    CmId id_;
    Stage stage_ = Stage::closed;
    Greeting greeting_;  // the other side's
    na::TargetWalk targets_{&Session::names_answered, this};
    TimeUs dial_until_ = 0;  // the limit for all addresses together; timer_ has that of the present address
    SocketAddress target_;
    bool dialled_ = false;
    bool unanswered_ = false;  // a request was sent, and the kernel waits for the answer
    TimerOf<Session> timer_;
    Errc end_why_ = Errc::peer_lost;

    std::uint32_t queue_pair_ = 0;
    std::uint8_t life_ = 0;  // how many queue pairs this slot has had, modulo 256
    std::uint32_t promised_ = 0;
    std::uint32_t window_ = 0;
    std::uint32_t inline_max_ = 0;
    std::uint32_t read_depth_ = 1;
    std::uint32_t rma_out_ = 0;
    SentWork sent_;
    LentList bound_;  // leases with windows of this queue pair; Bindings guards it
    SignOfLife sign_of_life_;
    // The value of Arrivals::times_emptied() when the queue pair was set to the error state; takes_in: it was not set
    // to that state.
    std::uint64_t failed_at_ = 0;
};

}  // namespace cinnabar::verbs
