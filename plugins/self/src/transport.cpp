// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"
#include "rma.hpp"

#include <cinnabar/base/random.hpp>

#include <cstdio>

namespace cinnabar::self_ {
namespace {

constexpr std::size_t segments_max = 4096;
constexpr std::uint32_t leases_max = 65'536;

std::string endpoint_of(na::Incarnation incarnation) {
    char text[32];
    std::snprintf(text, sizeof text, "self://%016llx", static_cast<unsigned long long>(incarnation));
    return text;
}

}  // namespace

SelfTransport::SelfTransport(const na::TransportOptions& options)
    : options_(options),
      incarnation_(secret_u64()),
      endpoint_(endpoint_of(incarnation_)),
      leases_(leases_max),
      mailboxes_(options.contexts_max) {
    caps_.ordered = true;
    caps_.put_notify = true;
    caps_.atomics = true;
    caps_.offset_addressing = true;
    caps_.revocable = true;
    caps_.detects_loss = true;
    caps_.wait_fd = true;
    caps_.same_host_only = true;
    limits_.message_bytes_max = options.message_bytes_max;
    limits_.rma_bytes_max = rma_bytes_max;
    limits_.segments_max = segments_max;
    limits_.op_segments_max = segments_max;
    limits_.lease_key_bytes_max = na::LeaseKey::wire_bytes;
    limits_.tag_bits = 64;
    limits_.rma_inflight_max = 16;
    limits_.receive_slots = options.receive_slots;
    limits_.send_slots = options.send_slots_max;
}

bool SelfTransport::reaches(std::string_view endpoint) const noexcept {
    return endpoint == endpoint_ || endpoint == "self://";
}

Result<std::unique_ptr<na::Port>> SelfTransport::open_port(na::PortHost& host) {
    const na::ContextId context = host.context_id();
    if (context >= mailboxes_.size()) return Error(Errc::too_large, "a context id is below contexts_max");
    auto mailbox = std::make_shared<Mailbox>(host, options_.receive_slots, options_.message_bytes_max);
    {
        const std::lock_guard lock(mutex_);
        if (mailboxes_[context]) return Error(Errc::exists, "a context of that id is open already");
        mailboxes_[context] = mailbox;
    }
    return std::unique_ptr<na::Port>(std::make_unique<SelfPort>(*this, host, std::move(mailbox)));
}

Result<std::unique_ptr<na::Memory>> SelfTransport::register_memory(std::span<const na::Segment> segments,
                                                                   na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, segments_max));
    return std::unique_ptr<na::Memory>(std::make_unique<na::CountedMemory>(*this, segments, access, registrations_));
}

Errc SelfTransport::revoke(na::Lease& lease) noexcept {
    leases_.revoke(lease);
    return Errc::ok;
}

void SelfTransport::describe(const na::Lease& lease, Writer& writer) const noexcept {
    na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
}

std::shared_ptr<Mailbox> SelfTransport::find(na::ContextId context) {
    const std::lock_guard lock(mutex_);
    return context < mailboxes_.size() ? mailboxes_[context] : nullptr;
}

void SelfTransport::close_port(na::ContextId context) {
    const std::lock_guard lock(mutex_);
    mailboxes_[context].reset();
}

na::Addr SelfTransport::addr_of(na::ContextId context) const {
    return na::Addr::make({endpoint_}, context, incarnation_);
}

}  // namespace cinnabar::self_
