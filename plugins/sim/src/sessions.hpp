// SPDX-License-Identifier: BSD-3-Clause
// The peers of a port, and how their connections begin and end: dials, answers, losses.
#pragma once

#include "peer.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cinnabar::sim {

class Sessions {
  public:
    explicit Sessions(SimPort& port) noexcept : port_(port) {}

    // As the functions of na::Port.
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr);
    void unreferenced(SimPeer& peer) noexcept;
    void disconnect(SimPeer& peer) noexcept;
    void stop_accepting() noexcept { accepting_ = false; }

    void dial(SimPeer& peer);
    // Handles an item about a connection or a dial.
    void handle(Item& item);
    // Destroys peers that were not used again since their last reference was released.
    void forget_unused();
    // Closes the port: ends all connections and dials, and their operations.
    void close() noexcept;
    void report_gone() noexcept;
    // Kills the process: its peers see resets.
    void die();
    // Handles an item whose port is closed: tells the other end.
    static void refuse(Item& item);

    void break_links_to(const std::string& host);
    void watch_cut_links(const std::string& host, std::uint64_t cut);
    void add_to(World::HostCounts& counts) const noexcept {
        counts.peers += static_cast<std::uint32_t>(peers_.size());
        counts.connections += connections_;
    }

  private:
    static void dial_arrives(const DialPtr& dial, const na::Hello& question, const std::string& host);
    void on_dial(Item& item);
    void accept(SimPeer& peer, const DialPtr& dial, const na::Hello& hello);
    void on_accepted(Item& item);
    void on_dial_failed(Item& item);
    void connected(SimPeer& peer, LinkPtr link, unsigned end, const na::Hello& hello);
    void lose(SimPeer& peer, Errc why);
    [[nodiscard]] std::uint32_t message_bytes_max() const noexcept;
    SimPeer& add(na::Addr addr, std::string host);

    SimPort& port_;
    std::vector<std::unique_ptr<SimPeer>> peers_;
    std::vector<SimPeer*> unused_;
    std::uint32_t connections_ = 0;
    bool accepting_ = true;
};

}  // namespace cinnabar::sim
