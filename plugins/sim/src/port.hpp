// SPDX-License-Identifier: BSD-3-Clause
// A context's end of a simulated network. Events of the world only put items into its inbox and move registered bytes;
// the context sees them in poll(), in order.
#pragma once

#include "link.hpp"
#include "transport.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/message_pool.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace cinnabar::sim {

// Lives in Op::private_bytes while the op is posted.
struct SimOp {
    enum class State : std::uint8_t { waiting, flying, done };
    ListLink<SimOp> link;
    na::Op* op = nullptr;
    std::uint64_t id = 0;
    std::uint32_t pieces_left = 0;
    Errc result = Errc::ok;
    State state = State::waiting;
};
using SimOps = IntrusiveList<SimOp, &SimOp::link>;

// A connection being asked for. Shared with the events that carry the question and the answer.
struct Dial {
    SimPort* from = nullptr;  // null once its port has closed
    SimPeer* peer = nullptr;
    std::string host;
    bool settled = false;  // answered, timed out or given up: whatever comes later is void
};
using DialPtr = std::shared_ptr<Dial>;

class SimPeer final : public na::Peer {
  public:
    SimPeer(na::Port& port, na::Addr addr, std::string name) noexcept
        : Peer(port, std::move(addr)), name_(std::move(name)) {}
    ~SimPeer() = default;

  private:
    friend class SimPort;
    const std::string name_;  // the host; empty for a peer that is known by its session only
    LinkPtr link_;            // null unless connected
    unsigned end_ = 0;        // which end of the link is ours
    DialPtr dial_;            // while connecting
    SimOps waiting_;
    SimOps flying_;
    bool unreferenced_ = false;
};

class SimPort final : public na::Port {
  public:
    SimPort(SimTransport& transport, na::PortHost& host);
    void close() noexcept override;

    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer& peer) noexcept override;
    void disconnect(na::Peer& peer) noexcept override;
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    [[nodiscard]] bool send_now(na::Peer& peer, na::OpKind kind, na::Tag tag, ConstBytes message) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    void flush() noexcept override {}
    [[nodiscard]] bool prepare_wait() noexcept override { return inbox_.empty() && done_.empty(); }
    void idle(TimeUs until) noexcept override;
    [[nodiscard]] na::Message* take_message() noexcept override { return messages_.take(*this); }
    void give_message(na::Message& message) noexcept override { messages_.give(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override;
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override;
    void release(na::Kept& kept) noexcept override;
    void stop_accepting() noexcept override { accepting_ = false; }

    // For the world.
    [[nodiscard]] SimTransport& transport() noexcept { return transport_; }
    [[nodiscard]] TimeUs idle_until() const noexcept { return idle_until_; }  // 0: not idle
    void set_idle_until(TimeUs until) noexcept { idle_until_ = until; }
    void add_to(World::HostCounts& counts) const noexcept;
    void run_soon(Work& work) noexcept { host_.submit(work); }
    void die();
    void break_links_to(const std::string& host);
    void watch_cut_links(const std::string& host, std::uint64_t cut);

  private:
    struct Item {
        enum class Kind : std::uint8_t { packet, dial, accepted, dial_failed, reset, told_lost, op_done };
        Kind kind = Kind::packet;
        Packet packet;
        DialPtr dial;
        LinkPtr link;
        unsigned end = 0;
        na::Hello hello;
        SimPeer* peer = nullptr;  // told_lost: with a reference
        std::uint64_t op = 0;
        Errc why = Errc::ok;
    };

    // connect.cpp
    void watch_cut(const LinkPtr& link, unsigned end, std::uint64_t cut);
    void dial(SimPeer& peer);
    void dial_arrives(const DialPtr& dial, na::ContextId target, const na::Hello& hello, const std::string& name);
    void answer_failure(const DialPtr& dial, Errc why);
    void on_dial(Item& item);
    static void give_up_dial(SimPeer& peer) noexcept;
    void accept(SimPeer& peer, const DialPtr& dial, const na::Hello& hello);
    void on_accepted(Item& item);
    void on_dial_failed(Item& item);
    void connected(SimPeer& peer, LinkPtr link, unsigned end, const na::Hello& hello);
    void lose(SimPeer& peer, Errc why);
    void lose_and_tell(SimPeer& peer, Errc why);
    void close_end(const LinkPtr& link, unsigned own_end);
    void tell_other_end(const LinkPtr& link, unsigned own_end);
    static void reset_end(const LinkPtr& link, unsigned end);
    [[nodiscard]] na::Hello hello(na::HelloKind kind) const;
    SimPeer& make_peer(na::Addr addr, std::string name);
    void reap_peers();

    // messages.cpp
    void transmit(SimOp& sim_op, SimPeer& peer);
    void send(SimOp& sim_op, SimPeer& peer);
    void fly(SimPeer& peer, na::OpKind kind, na::Tag tag, ConstBytes message, std::uint64_t op);
    static void arrive(Packet packet);
    void take_in(Packet packet);
    static void acknowledge(const LinkPtr& link, unsigned to, std::uint64_t op, Errc result);
    void slot_freed();
    void hand_out(Packet& packet);
    // Runs `run` at `when`, or once the partition that is there then has healed.
    void through(const LinkPtr& link, TimeUs when, EventKind kind, std::function<void()> run);

    // rma.cpp
    void access(SimOp& sim_op, SimPeer& peer);
    static void place(const LinkPtr& link, unsigned from, std::uint64_t id, std::uint64_t offset, std::uint64_t bytes);
    static Errc move_bytes(SimPort& origin, SimPort& target, na::Op& op, std::uint64_t offset, std::uint64_t bytes);
    static void access_done(const LinkPtr& link, unsigned from, const SimOp& sim_op);

    // port.cpp
    void push(Item item);
    [[nodiscard]] SimOp* flying(std::uint64_t id) noexcept;
    void finish(SimOp& sim_op, Errc result) noexcept;
    void end_all(SimPeer& peer, Errc result) noexcept;
    void handle(Item& item);
    unsigned poll_done() noexcept;
    [[nodiscard]] bool dead() const noexcept { return !transport_.alive(); }

    SimTransport& transport_;
    WorldState& world_;
    na::PortHost& host_;
    const na::ContextId context_;
    na::MessagePool messages_;
    std::vector<std::unique_ptr<SimPeer>> peers_;
    std::vector<SimPeer*> unreferenced_;
    std::deque<Item> inbox_;
    std::map<std::uint64_t, SimOp*> flying_;
    SimOps done_;
    std::deque<Packet> blocked_;  // friendly: came while no slot was free
    std::uint32_t slots_used_ = 0;
    std::uint32_t spares_used_ = 0;
    std::uint32_t copies_ = 0;
    std::uint32_t connections_ = 0;
    TimeUs idle_until_ = 0;
    Packet* in_hand_ = nullptr;  // the arrival being handed out
    bool accepting_ = true;
    bool closed_ = false;
};

}  // namespace cinnabar::sim
