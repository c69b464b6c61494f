// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"
#include "rdma_library.hpp"
#include "system_errors.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace cinnabar::verbs {
namespace {

// The maximum number of segments per registration. Each group of adjacent segments is one registration of the device.
constexpr std::size_t pieces_max = 4096;
constexpr std::size_t message_bytes_limit = 1024 * 1024;
constexpr std::uint32_t rma_inflight_worth = 16;
// Slots of one port's receive queue. The queue needs about 64 bytes for each, used or not.
constexpr std::uint32_t posted_max_wanted = 16 * 1024;
constexpr std::uint32_t slots_per_session_min = window_min + control_slots;

std::uint32_t positive(int limit) noexcept { return static_cast<std::uint32_t>(std::max(limit, 1)); }

std::uint32_t posted_max_of(const Device& device, const na::TransportOptions& options) noexcept {
    const std::uint64_t asked =
        std::uint64_t{options.receive_slots} + std::uint64_t{options.connections_max} * slots_per_session_min;
    // Half of the completion queue is for receives.
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(
        {asked, posted_max_wanted, positive(device.limits().max_srq_wr), positive(device.limits().max_cqe) / 2}));
}

}  // namespace

VerbsTransport::VerbsTransport(std::shared_ptr<Device> device, const na::TransportOptions& options)
    : SessionTransport(options),
      device_(std::move(device)),
      posted_max_(posted_max_of(*device_, options)),
      leases_(positive(device_->limits().max_mr) / 2) {
    options_.receive_slots = std::min(options_.receive_slots, std::max(posted_max_ / 2, 1u));
    const DeviceTraits& traits = device_->traits();
    caps_.atomics = traits.atomics;
    caps_.atomics_by_device = traits.atomics;
    caps_.confines = traits.windows;
    caps_.guessable_keys = !traits.picks_addresses;
    caps_.offset_addressing = false;
    limits_.rma_bytes_max = traits.rma_bytes_max;
    limits_.segments_max = pieces_max;
    limits_.op_segments_max = traits.send_pieces_max;
    limits_.lease_key_bytes_max = key_bytes(1);
    limits_.rma_inflight_max = rma_inflight_worth;
    limits_.receive_slots = options_.receive_slots;
    limits_.connections_max =
        std::min({options.connections_max, posted_max_ / slots_per_session_min, traits.connections_max});
}

VerbsTransport::~VerbsTransport() { CINNABAR_ASSERT(ports_.empty()); }

Result<std::unique_ptr<na::Transport>> VerbsTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    if (options.message_bytes_max > message_bytes_limit) {
        return Error(Errc::invalid_argument, "message_bytes_max is at most 1 MiB");
    }
    CINNABAR_TRY(std::shared_ptr<Device> device, Device::open(uri));
    std::unique_ptr<VerbsTransport> transport(new VerbsTransport(std::move(device), options));
    if (options.listen) CINNABAR_TRY_VOID(transport->listen());
    return std::unique_ptr<na::Transport>(std::move(transport));
}

Result<void> VerbsTransport::listen() {
    constexpr int backlog = 1024;
    CINNABAR_TRY(listen_channel_, make_event_channel());
    rdma_cm_id* id = nullptr;
    if (rdma().create_id(listen_channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
        return Error(Errc::io, "making an RDMA connection id", {}, errno);
    }
    listener_.reset(id);
    const SocketAddress& address = device_->address();
    if (rdma().bind_addr(id, plain(address)) != 0 || rdma().listen(id, backlog) != 0) {
        return Error(errc_from_errno(errno), "listening for RDMA connections", address.endpoint("verbs"), errno);
    }
    return {};
}

std::vector<std::string> VerbsTransport::endpoints() const {
    if (!listener_) return {};
    SocketAddress address = device_->address();
    address.set_port(ntohs(rdma().get_src_port(listener_.get())));
    return {address.endpoint("verbs")};
}

Result<std::unique_ptr<na::Port>> VerbsTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<VerbsPort>(*this, host);
    CINNABAR_TRY_VOID(port->open());
    CINNABAR_TRY_VOID(ports_.add(*port, options_));
    return std::unique_ptr<na::Port>(std::move(port));
}

void VerbsTransport::take_requests() noexcept {
    constexpr unsigned requests_max = 32;  // per call
    const std::lock_guard lock(listen_mutex_);
    CmEvent event;
    for (unsigned i = 0; i < requests_max && next_event(listen_channel_.get(), event); ++i) {
        if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) requested(event);
        if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) device_is_gone();
    }
}

void VerbsTransport::device_is_gone() noexcept {
    log(LogLevel::error, "verbs", "the device at %s was removed: no connection can be made to it any more",
        device_->address().endpoint("verbs").c_str());
    ports_.each([](VerbsPort& port) { port.failure().fail(Errc::unreachable); });
}

void VerbsTransport::requested(const CmEvent& event) noexcept {
    Incoming incoming;
    incoming.id.reset(event.id);
    incoming.read_depth = event.reads_out;
    incoming.reads_asked = event.reads_in;
    const Errc wrong = Greeting::decode(event.private_data(), incoming.greeting);
    if (wrong == Errc::protocol || incoming.greeting.hello.kind != na::HelloKind::dial) {
        static constinit LogLimit lines;
        const std::string peer = SocketAddress(::rdma_get_peer_addr(event.id)).log_name("verbs");
        log_limited(lines, LogLevel::info, "verbs",
                    {peer_field(peer), transport_field("verbs"), error_field(Errc::protocol)},
                    "%s is not a Cinnabar peer: rejected", peer.c_str());
        (void)rdma().reject(event.id, nullptr, 0);
        return;
    }
    const auto migrate = [&](VerbsPort& port) {
        return rdma().migrate_id(incoming.id.get(), port.manager().channel()) == 0;
    };
    ports_.choose(incoming.greeting.hello);
    const Errc refused = wrong == Errc::ok ? ports_.hand_over(incoming, migrate) : wrong;
    if (refused == Errc::ok) return;
    na::Hello answer;
    answer.kind = na::HelloKind::reject;
    answer.reason = static_cast<std::uint8_t>(refused);
    answer.incarnation = incarnation();
    answer.context = incoming.greeting.hello.peer_context;
    incoming.reject(answer);
}

void Incoming::reject(const na::Hello& why) const noexcept {
    Greeting answer;
    answer.hello = why;
    const auto bytes = answer.encode();
    (void)rdma().reject(id.get(), bytes.data(), static_cast<std::uint8_t>(bytes.size()));
}

Result<std::unique_ptr<na::Memory>> VerbsTransport::register_memory(std::span<const na::Segment> segments,
                                                                    na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, pieces_max));
    return VerbsMemory::make(*this, device_, segments, access, registrations_);
}

Errc VerbsTransport::grant(na::Lease& lease) noexcept {
    CINNABAR_ASSERT(!lease.granted() && lease.memory);
    if (!allows(lease.memory->access(), lease.access)) return Errc::permission;
    if (lease.offset > lease.memory->bytes() || lease.bytes > lease.memory->bytes() - lease.offset) {
        return Errc::invalid_argument;
    }
    if (!leases_.take()) return Errc::too_large;
    Result<std::unique_ptr<LentMemory>> lent = lend(*device_, lease);
    if (!lent) {
        leases_.give();
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "verbs", "memory cannot be lent: %s", lent.error().message().c_str());
        return lent.code();
    }
    lease.registration = lent->release();
    lease.key = secret_u64();
    return Errc::ok;
}

void VerbsTransport::confine(const na::Lease& lease, const na::Peer& peer) noexcept {
    CINNABAR_ASSERT(lease.granted());
    auto& lent = *static_cast<LentMemory*>(lease.registration);
    if (!lent.windows.empty()) bindings_.add(lent, static_cast<const VerbsPeer&>(peer).to_bind);
}

Errc VerbsTransport::revoke(na::Lease& lease) noexcept {
    CINNABAR_ASSERT(lease.granted());
    lease.key = 0;
    leases_.give();
    if (!bindings_.leave(*static_cast<LentMemory*>(lease.registration), lease)) return Errc::again;
    if (end_lease(lease)) return Errc::ok;
    const bool told = ports_.with_any([&](VerbsPort& port) {
        lease.fence_failed = true;
        port.host().submit(lease.fenced);
    });
    // Without a port there is no connection through which a peer could still write.
    return told ? Errc::again : Errc::ok;
}

void VerbsTransport::end_revocation(na::Lease& lease, VerbsPort& port) noexcept {
    lease.fence_failed = !end_lease(lease);
    port.host().submit(lease.fenced);
}

// False: a peer is in the middle of a write that does not end, so the fence fails: the memory must not be reused.
bool VerbsTransport::end_lease(na::Lease& lease) noexcept {
    std::unique_ptr<LentMemory> lent(static_cast<LentMemory*>(std::exchange(lease.registration, nullptr)));
    if (take_back(*device_, *lent)) return true;
    const std::lock_guard lock(stuck_mutex_);
    lent->next = std::move(stuck_);
    stuck_ = std::move(lent);
    return false;
}

void VerbsTransport::describe(const na::Lease& lease, ByteWriter& writer) const noexcept {
    encode_key(static_cast<const LentMemory*>(lease.registration)->segments, writer);
}

std::size_t VerbsTransport::described_bytes(const na::Lease& lease) const noexcept {
    // May be called before the lease is granted.
    return key_bytes(static_cast<const VerbsMemory&>(*lease.memory).pieces_count(lease.offset, lease.bytes));
}

std::string VerbsTransport::diagnosis() const {
    rlimit locked{};
    (void)::getrlimit(RLIMIT_MEMLOCK, &locked);
    std::string text = device_->describe();
    for (const std::string& endpoint : endpoints()) text += ", listens at " + endpoint;
    const bool unlimited = locked.rlim_cur == RLIM_INFINITY;
    text += "; locked memory " + (unlimited ? "unlimited" : std::to_string(locked.rlim_cur / 1024) + " KiB at most");
    text += device_->traits().picks_addresses
                ? "; lent memory is at secret addresses"
                : "; lent memory is protected by the device's keys alone, which a peer may guess";
    if (device_->traits().windows) {
        return text +
               "; a key is bound to the connection of the peer that the memory is lent to, and that of memory "
               "which may be forwarded is valid for every connection of the context";
    }
    return text + "; keys of this device are valid for every connection of the context (" + device_->why_no_windows() +
           "; verbss:// keeps other peers out)";
}

}  // namespace cinnabar::verbs
