// SPDX-License-Identifier: BSD-3-Clause
// The networks that the contract is tested on, and processes on them, all inside the test's own process.
#pragma once

#include "support/cable_places.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace cinnabar::support {

enum class NetworkKind : std::uint8_t {
    self,
    sim_friendly,
    sim_strict,
    tcp,
    shm,          // copies across address spaces, where the kernel lets it
    shm_buffers,  // and as where it does not
    cable,        // whatever cable_places() says, the nodes at its ends in turn
    ofi_tcp_rxm,  // libfabric, by provider: those that this machine has
    ofi_net,
    ofi_sockets,
    ofi_shm,
    ofi_udp_rxd,
};
[[nodiscard]] const char* to_string(NetworkKind kind) noexcept;
inline std::ostream& operator<<(std::ostream& out, NetworkKind kind) { return out << to_string(kind); }
// `cable` alone where there is one; else those whose plugins are in this build.
[[nodiscard]] std::vector<NetworkKind> networks();
// Those for tests of the layers above: of libfabric only the providers that "it never hangs" is promised on. The others
// are slow, and shm crashes when an endpoint closes before another of its process.
[[nodiscard]] std::vector<NetworkKind> networks_for_calls();

class Network {
  public:
    explicit Network(NetworkKind kind, std::uint64_t seed = 1);
    ~Network();

    [[nodiscard]] NetworkKind kind() const noexcept { return kind_; }
    // Over libfabric, whatever the provider.
    [[nodiscard]] bool is_ofi() const noexcept { return kind_ >= NetworkKind::ofi_tcp_rxm; }
    // Hardware, or what is like it, reads and writes a peer's memory without that process's doing.
    [[nodiscard]] bool is_one_sided() const noexcept;
    // The end of a peer is told apart from its messages, and may come before or behind them.
    [[nodiscard]] bool tells_ends_apart() const noexcept { return is_ofi() || (cable_ && !cable_->is_of("tcp")); }
    [[nodiscard]] bool is_sim() const noexcept { return world_ != nullptr; }
    [[nodiscard]] sim::World& world() noexcept { return *world_; }
    [[nodiscard]] sim::World* world_or_null() noexcept { return world_.get(); }
    // `self` knows one process only: all its nodes share a transport.
    [[nodiscard]] bool one_process() const noexcept { return kind_ == NetworkKind::self; }

    // Why it cannot be had on this machine, whose libfabric may lack the provider; empty: it can.
    [[nodiscard]] std::string missing() const;

    // Opens the transport of a process. On `self` a new network each time.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open(const std::string& name,
                                                              const na::TransportOptions& options);

    // An address of this kind at which nobody listens.
    [[nodiscard]] std::string nobody();

  private:
    NetworkKind kind_;
    na::Registry registry_;
    std::shared_ptr<sim::World> world_;
    std::optional<CablePlaces> cable_;
    unsigned opened_ = 0;
};

// One context of one process, with what it received.
struct Node {
    std::string name;
    std::shared_ptr<na::Transport> transport;
    RecordingReceiver receiver;
    std::unique_ptr<na::Context> context;

    [[nodiscard]] na::Addr addr(bool with_incarnation = false) const;
    [[nodiscard]] na::Port& port() const { return *context->ports().front(); }
};

}  // namespace cinnabar::support
