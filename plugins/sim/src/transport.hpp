// SPDX-License-Identifier: BSD-3-Clause
// A host of a world: one process with its ports, registrations and leases.
#pragma once

#include "world_state.hpp"

#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::sim {

class SimTransport final : public na::SessionTransport {
  public:
    // `claimed`: the incarnation that the process claims; 0: a random one.
    SimTransport(std::shared_ptr<WorldState> world, std::string name, const na::TransportOptions& options,
                 na::Incarnation claimed);
    ~SimTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "sim"; }
    [[nodiscard]] std::vector<std::string> endpoints() const override;
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] TimeSource* clock() noexcept override { return world_.get(); }

    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override { return leases_.grant(lease); }
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override {
        if (caps_.confines) leases_.confine(lease, peer);
    }
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease& lease) const noexcept override;
    [[nodiscard]] std::string diagnosis() const override;

    // Used by the world and the ports.
    [[nodiscard]] WorldState& world() noexcept { return *world_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] SimPort* port(na::ContextId context) noexcept;
    [[nodiscard]] const std::vector<SimPort*>& ports() const noexcept { return ports_; }
    void close_port(na::ContextId context);
    [[nodiscard]] bool alive() const noexcept { return alive_; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    void kill();
    void stop() { stopped_ = true; }
    void resume();
    // Runs `later` when the process is resumed.
    void stall(std::function<void()> later) { stalled_.push_back(std::move(later)); }
    [[nodiscard]] World::HostCounts counts() const noexcept;
    [[nodiscard]] bool registered(const na::Memory* memory) const { return memories_.contains(memory); }
    void forget(const na::Memory* memory) { memories_.erase(memory); }

  private:
    struct Fence;
    [[nodiscard]] std::size_t segments_of(const na::Lease& lease) const noexcept;
    void finish_fence(const std::shared_ptr<Fence>& fence);

    std::shared_ptr<WorldState> world_;
    const std::string name_;
    na::LeaseTable leases_;
    std::vector<SimPort*> ports_;           // by context id; null: not open
    std::set<const na::Memory*> memories_;  // only looked up, never iterated: addresses differ from run to run
    std::vector<std::shared_ptr<Fence>> fences_;
    std::vector<std::shared_ptr<Fence>> failed_fences_;  // accesses that are under way still reach their memory
    std::vector<std::function<void()>> stalled_;
    bool alive_ = true;
    bool stopped_ = false;
};

// Whether `bytes` bytes from `offset` on lie inside one segment of a lease. `key`: a key under rdma_strict, in which
// the sizes of the segments that the lease touches follow the LeaseKey: {u32 count, count x u64 bytes}.
[[nodiscard]] bool inside_one_segment(ConstBytes key, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace cinnabar::sim
