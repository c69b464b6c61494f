// SPDX-License-Identifier: BSD-3-Clause
// One connection and its queue pair, from the dial or the request that came in to the last work request that the device
// gives back. It lives in a pool of its port whose memory stays. Owner of the context only.
#pragma once

#include "cm_events.hpp"
#include "credits.hpp"
#include "device.hpp"
#include "greeting.hpp"
#include "posted.hpp"
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

// A connection request that came in and is not answered yet.
struct Incoming {
    CmId id;
    Greeting greeting;
    std::uint8_t read_depth = 1;   // reads that the other side can answer at once
    std::uint8_t reads_asked = 1;  // and that it wants answered

    // Answers with a Hello that rejects it.
    void reject(const na::Hello& why) const noexcept;
};

class Connection final : public PoolSlot {
  public:
    // Set-up (connection_setup.cpp). A dial tries the peer's addresses in turn; its outcome goes to
    // VerbsPort::dial_done or dial_failed, never from inside this call.
    void dial(VerbsPort& port, VerbsPeer& peer) noexcept;
    // Answers a request with the own greeting. False: nothing was sent, the request is as it was, and the connection is
    // closed again.
    [[nodiscard]] bool accept(VerbsPort& port, Incoming& incoming) noexcept;
    void on_cm_event(const CmNews& news) noexcept;
    // Both sides know of it. The peer is who the session is with from now on.
    void open(VerbsPeer& peer) noexcept;
    // Ends it: the device gives back what it holds, then the port closes it.
    void drain(Errc why) noexcept;
    // Closes it now: the device has let go of everything when this returns; what it held ends with `why`.
    void close(Errc why) noexcept;

    // Gives up a dial that is not answered, where that cannot be closed now; false: close it. On iWARP the kernel
    // does not let it be destroyed before it has its answer, or has waited for one long enough itself.
    [[nodiscard]] bool leave_unanswered() noexcept;

    // Data (connection_send.cpp). Sends what waits, as far as credits and the send queue allow.
    void transmit() noexcept;
    // The work requests up to `place` are done, the last one with `status`.
    void completed(std::uint32_t place, ibv_wc_status status) noexcept;
    // Asks the other side's device for a sign of life, unless one is owed already or there was one since `since`; false
    // when one is owed for longer than `patience`.
    [[nodiscard]] bool probe(TimeUs since, TimeUs patience) noexcept;

    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    [[nodiscard]] VerbsPort& port() const noexcept { return *port_; }
    [[nodiscard]] VerbsPeer* peer() const noexcept { return peer_; }
    [[nodiscard]] const Greeting& greeting() const noexcept { return greeting_; }
    // Of the other side. Requires: dialled, or accepted.
    [[nodiscard]] SocketAddress remote_address() const noexcept;
    [[nodiscard]] std::uint8_t life() const noexcept { return life_; }
    [[nodiscard]] std::uint32_t queue_pair() const noexcept { return queue_pair_; }
    [[nodiscard]] std::uint32_t promised() const noexcept { return promised_; }
    [[nodiscard]] bool idle() const noexcept { return sent_.empty() && !unanswered_; }
    // While it drains: others may have its receive slots as soon as all is read that it took before.
    void give_slots_back() noexcept;

    SendCredits sends;
    ReceiveCredits receives;
    TimeUs alive_at = 0;                 // something came, or the device said that something arrived
    std::vector<ibv_wc> held;            // arrivals before the session was begun, at most promised()
    std::atomic<Errc> broken{Errc::ok};  // why, as an asynchronous event said; set by any thread

    ListLink<Connection> link;       // in the port's dirty or draining list
    ListLink<Connection> room_link;  // it waits for what all connections share
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
    void answered(const CmNews& news) noexcept;
    void destroy_queue_pair() noexcept;
    static void time_out(Timer& timer) noexcept;

    [[nodiscard]] RemotePlace beacon() const noexcept { return {greeting_.beacon, greeting_.beacon_key}; }
    void announce(Greeting& own) const noexcept;
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
    Greeting greeting_;  // of the other side
    na::TargetWalk targets_{&Connection::names_answered, this};
    TimeUs dial_until_ = 0;  // all addresses together; the timer is for the present one
    SocketAddress target_;
    bool dialled_ = false;
    bool unanswered_ = false;  // the kernel waits for what the other side says to a request
    TimerOf<Connection> timer_;
    Errc end_why_ = Errc::peer_lost;

    std::uint32_t queue_pair_ = 0;
    std::uint8_t life_ = 0;  // counts the queue pairs of this slot
    std::uint32_t promised_ = 0;
    std::uint32_t window_ = 0;
    std::uint32_t inline_max_ = 0;
    std::uint32_t read_depth_ = 1;
    std::uint32_t rma_out_ = 0;
    SentWork sent_;
    SignOfLife sign_of_life_;
    std::uint64_t failed_at_ = 0;  // Arrivals::times_emptied() as its queue pair was; takes_in: it takes in messages
};

}  // namespace cinnabar::verbs
