// SPDX-License-Identifier: BSD-3-Clause
// The networks on which the transport contract is tested. The peers all run inside the test's process.
#pragma once

#include "support/cable_ends.hpp"
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
    tcps,          // with the key of test_key.hpp
    sealed_tcp,    // sealed messages over tcp (tls/sealed.hpp), with the same key; see contract_networks()
    shm,           // copies between address spaces, if the kernel permits that
    shm_buffers,   // the same, without those copies
    cable,         // the transport of cable_ends(), with nodes alternately at its two ends
    ofi_tcp_rxm,   // libfabric, by provider: those that this machine has
    ofis_tcp_rxm,  // protected, with the key of test_key.hpp
    ofi_net,
    ofi_sockets,
    ofi_shm,
    ofi_udp_rxd,
};
[[nodiscard]] const char* to_string(NetworkKind kind) noexcept;
inline std::ostream& operator<<(std::ostream& out, NetworkKind kind) { return out << to_string(kind); }
// Only `cable` if there is one; otherwise those whose plugins are in this build.
[[nodiscard]] std::vector<NetworkKind> networks();
// For the contract of transports: also sealed messages, which users get over verbs, but which run over tcp here.
[[nodiscard]] std::vector<NetworkKind> contract_networks();
// For tests of higher layers: of libfabric only the providers that are supported without hangs. The others are slow,
// and libfabric's shm crashes if an endpoint is closed before another one of its process.
[[nodiscard]] std::vector<NetworkKind> networks_for_calls();

class Network {
  public:
    explicit Network(NetworkKind kind, std::uint64_t seed = 1);
    ~Network();

    [[nodiscard]] NetworkKind kind() const noexcept { return kind_; }
    // Uses libfabric, with any provider.
    [[nodiscard]] bool is_ofi() const noexcept { return kind_ >= NetworkKind::ofi_tcp_rxm; }
    // Memory of a peer is read and written without any action of its process, by hardware or by an emulation.
    [[nodiscard]] bool is_one_sided() const noexcept;
    // The loss of a peer is reported separately from its messages, and may be seen before or after them.
    [[nodiscard]] bool tells_ends_apart() const noexcept { return is_ofi() || (cable_ && !cable_->is_of("tcp")); }
    [[nodiscard]] bool is_sim() const noexcept { return world_ != nullptr; }
    [[nodiscard]] sim::World& world() noexcept { return *world_; }
    [[nodiscard]] sim::World* world_or_null() noexcept { return world_.get(); }
    // `self` is one process: all its nodes share a transport.
    [[nodiscard]] bool one_process() const noexcept { return kind_ == NetworkKind::self; }

    // The reason why this network is missing here, such as a libfabric without the provider; empty if it is not.
    [[nodiscard]] std::string missing() const;

    // Opens the transport of a process. On `self` each call makes a new network.
    [[nodiscard]] Result<std::unique_ptr<na::Transport>> open(const std::string& name,
                                                              const na::TransportOptions& options);

    // An address of this kind at which nothing listens.
    [[nodiscard]] std::string nobody();

  private:
    NetworkKind kind_;
    na::Registry registry_;
    std::shared_ptr<sim::World> world_;
    std::optional<CableEnds> cable_;
    unsigned opened_ = 0;
};

// One context of one process, with the arrivals that it has received.
struct Node {
    std::string name;
    std::shared_ptr<na::Transport> transport;
    RecordingReceiver receiver;
    std::unique_ptr<na::Context> context;

    [[nodiscard]] na::Addr addr(bool with_incarnation = false) const;
    [[nodiscard]] na::Port& port() const { return *context->ports().front(); }
};

}  // namespace cinnabar::support
