// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::sim {
namespace {

constexpr std::uint32_t leases_in_all = 65'536;
constexpr std::size_t key_bytes = na::LeaseKey::wire_bytes;
constexpr TimeUs failed_fence_lasts_us = 10'000;

class SimMemory final : public na::CountedMemory {
  public:
    SimMemory(SimTransport& transport, std::span<const na::Segment> segments, na::Access access,
              std::shared_ptr<na::Registrations> count)
        : CountedMemory(transport, segments, access, std::move(count)), owner_(transport) {}
    ~SimMemory() override { owner_.forget(this); }

  private:
    SimTransport& owner_;
};

}  // namespace

// A revocation in progress. `copy` is for the lease table; the owner's `lease` is written only when the fence is over.
struct SimTransport::Fence {
    na::Lease* lease = nullptr;
    na::Lease copy;
    bool failed = false;
    bool done = false;
};

SimTransport::SimTransport(std::shared_ptr<WorldState> world, std::string name, const na::TransportOptions& options,
                           na::Incarnation claimed)
    : SessionTransport(options, claimed != 0 ? claimed : world->random().next() | 1),
      world_(std::move(world)),
      name_(std::move(name)),
      leases_(leases_in_all),
      ports_(options.contexts_max) {
    const bool strict = world_->strict();
    caps_.ordered = caps_.offset_addressing = caps_.revocable = caps_.confines = caps_.admits_guests = !strict;
    caps_.counted_slots = strict;
    caps_.wait_fd = false;
    limits_.rma_bytes_max = strict ? 1024 * 1024 : 4 * 1024 * 1024;
    limits_.segments_max = 4096;
    limits_.op_segments_max = strict ? 4 : 4096;
    limits_.lease_key_bytes_max = strict ? key_bytes + 12 : key_bytes;
    limits_.rma_inflight_max = strict ? 8 : 16;
    world_->add(*this);
}

SimTransport::~SimTransport() {
    CINNABAR_ASSERT(std::all_of(ports_.begin(), ports_.end(), [](const SimPort* port) { return !port; }));
    for (const auto& fence : failed_fences_) leases_.revoke(fence->copy);
    world_->remove(*this);
}

std::vector<std::string> SimTransport::endpoints() const {
    return options_.listen ? std::vector<std::string>{"sim://" + name_} : std::vector<std::string>{};
}

bool SimTransport::reaches(std::string_view endpoint) const noexcept {
    return endpoint.starts_with("sim://") && endpoint.size() > std::string_view("sim://").size();
}

std::string SimTransport::diagnosis() const {
    return std::string("a simulated network, ") + (world_->strict() ? "rdma_strict" : "friendly") + ", seed " +
           std::to_string(world_->options().seed);
}

Result<std::unique_ptr<na::Port>> SimTransport::open_port(na::PortHost& host) {
    const na::ContextId context = host.context_id();
    if (context >= ports_.size()) return Error(Errc::too_large, "the context id is not below contexts_max");
    if (ports_[context]) return Error(Errc::exists, "a context with that id is open already");
    auto made = std::make_unique<SimPort>(*this, host);
    ports_[context] = made.get();
    return std::unique_ptr<na::Port>(std::move(made));
}

SimPort* SimTransport::port(na::ContextId context) noexcept {
    return context < ports_.size() ? ports_[context] : nullptr;
}

void SimTransport::close_port(na::ContextId context) {
    const bool last = std::count(ports_.begin(), ports_.end(), nullptr) + 1 == static_cast<long>(ports_.size());
    if (last) {
        // Without a port nothing could finish the fences later.
        for (const auto& fence : std::exchange(fences_, {})) finish_fence(fence);
    }
    ports_[context] = nullptr;
}

World::HostCounts SimTransport::counts() const noexcept {
    World::HostCounts counts;
    counts.leases = leases_.granted();
    counts.registrations = static_cast<std::uint32_t>(memories_.size());
    for (const SimPort* port : ports_) {
        if (port) port->add_to(counts);
    }
    return counts;
}

void SimTransport::kill() {
    alive_ = false;
    stopped_ = false;
    stalled_.clear();
    for (SimPort* port : ports_) {
        if (port) port->die();
    }
}

void SimTransport::resume() {
    stopped_ = false;
    for (auto& later : std::exchange(stalled_, {})) {
        world_->schedule(world_->now_us() + world_->travel_us(0), EventKind::piece, std::move(later));
    }
}

Result<std::unique_ptr<na::Memory>> SimTransport::register_memory(std::span<const na::Segment> segments,
                                                                  na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, limits_.segments_max));
    auto made = std::make_unique<SimMemory>(*this, segments, access, registrations_);
    memories_.insert(made.get());
    return std::unique_ptr<na::Memory>(std::move(made));
}

Errc SimTransport::revoke(na::Lease& lease) noexcept {
    const bool nobody_runs_it =
        std::all_of(ports_.begin(), ports_.end(), [](const SimPort* port) { return !port; }) || !alive_;
    if (!world_->strict() || nobody_runs_it) {
        leases_.revoke(lease);
        return Errc::ok;
    }
    auto fence = std::make_shared<Fence>();
    fence->lease = &lease;
    fence->failed = world_->random().chance(world_->options().fence_failed_one_in);
    const auto copy_to = [&lease](na::Lease& copy) {
        copy.memory = lease.memory;
        copy.key = lease.key;
        copy.slot = lease.slot;
        copy.generation = lease.generation;
    };
    copy_to(fence->copy);
    fences_.push_back(fence);
    const TimeUs takes = 20 + world_->random().below(500);
    world_->schedule(world_->now_us() + takes, EventKind::fence, [this, fence] {
        if (!fence->done) finish_fence(fence);
    });
    return Errc::again;
}

// Requires: a port is open. The last one finishes the fences when it closes (close_port()).
void SimTransport::finish_fence(const std::shared_ptr<Fence>& fence) {
    fence->done = true;
    std::erase(fences_, fence);
    fence->lease->key = 0;
    fence->lease->fence_failed = fence->failed;
    const auto open = std::find_if(ports_.begin(), ports_.end(), [](const SimPort* port) { return port != nullptr; });
    CINNABAR_ASSERT(open != ports_.end());
    if (fence->failed) {
        // The owner quarantines the memory; accesses that are under way still reach it for a while.
        failed_fences_.push_back(fence);
        world_->schedule(world_->now_us() + failed_fence_lasts_us, EventKind::fence,
                         [world = world_.get(), name = name_, life = incarnation(), fence] {
                             SimTransport* host = world->find(name);
                             if (!host || host->incarnation() != life) return;
                             host->leases_.revoke(fence->copy);
                             std::erase(host->failed_fences_, fence);
                         });
    } else {
        leases_.revoke(fence->copy);
    }
    (*open)->run_soon(fence->lease->fenced);
}

std::size_t SimTransport::segments_of(const na::Lease& lease) const noexcept {
    if (lease.bytes == 0) return 0;
    return lease.memory->segment_at(lease.offset + lease.bytes - 1) - lease.memory->segment_at(lease.offset) + 1;
}

std::size_t SimTransport::described_bytes(const na::Lease& lease) const noexcept {
    return world_->strict() ? key_bytes + 4 + 8 * segments_of(lease) : key_bytes;
}

void SimTransport::describe(const na::Lease& lease, ByteWriter& writer) const noexcept {
    SessionTransport::describe(lease, writer);
    if (!world_->strict()) return;
    const std::size_t count = segments_of(lease);
    writer.u32(static_cast<std::uint32_t>(count));
    std::uint64_t at = lease.offset;
    const std::uint64_t end = lease.offset + lease.bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t index = lease.memory->segment_at(at);
        const std::uint64_t border = lease.memory->segment_offset(index) + lease.memory->segments()[index].bytes;
        const std::uint64_t next = std::min(border, end);
        writer.u64(next - at);
        at = next;
    }
}

bool inside_one_segment(ConstBytes key, std::uint64_t offset, std::uint64_t bytes) noexcept {
    ByteReader reader(key);
    reader.skip(key_bytes);
    const std::uint32_t count = reader.u32();
    if (!reader.ok() || reader.left() != std::size_t{count} * 8) return false;
    if (count == 0) return offset == 0 && bytes == 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t segment = reader.u64();
        if (offset <= segment && bytes <= segment - offset) return true;
        if (offset < segment) return false;
        offset -= segment;
    }
    return false;
}

}  // namespace cinnabar::sim
