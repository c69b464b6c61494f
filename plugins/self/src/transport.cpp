// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"
#include "rma.hpp"

#include <cinnabar/base/random.hpp>

#include <atomic>
#include <cstdio>
#include <map>
#include <utility>

namespace cinnabar::self_ {
namespace {

constexpr std::size_t pieces_max = 4096;
constexpr std::uint32_t leases_in_all = 65'536;

std::string endpoint_of(const std::string& name, na::Incarnation incarnation) {
    if (!name.empty()) return "self://" + name;
    char text[32];
    std::snprintf(text, sizeof text, "self://%016llx", static_cast<unsigned long long>(incarnation));
    return text;
}

// The transports of this process that can reach each other, by endpoint.
struct Directory {
    std::mutex mutex;
    std::map<std::string, SelfTransport*, std::less<>> transports;
};

Directory& directory() {
    static auto* all = new Directory;  // never destroyed, because static transports may use it
    return *all;
}

}  // namespace

std::unique_ptr<SelfTransport> SelfTransport::make(const std::string& name, bool alone,
                                                   const na::TransportOptions& options) {
    const na::Incarnation incarnation = secret_u64();
    auto network = std::make_shared<Network>(endpoint_of(name, incarnation), incarnation, leases_in_all);
    const std::string endpoint = network->endpoint;
    std::unique_ptr<SelfTransport> made(new SelfTransport(std::move(network), true, options));
    if (alone) return made;
    const std::lock_guard lock(directory().mutex);
    if (!directory().transports.emplace(endpoint, made.get()).second) return nullptr;
    made->alone_ = false;
    return made;
}

SelfTransport::~SelfTransport() {
    if (alone_) return;
    const std::lock_guard lock(directory().mutex);
    directory().transports.erase(network_->endpoint);
}

std::uint64_t SelfTransport::next_connection() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

SelfTransport::SelfTransport(std::shared_ptr<Network> network, bool alone, const na::TransportOptions& options)
    : SessionTransport(options, network->incarnation),
      network_(std::move(network)),
      alone_(alone),
      mailboxes_(options.contexts_max) {
    caps_.same_host_only = true;
    limits_.segments_max = pieces_max;
    limits_.op_segments_max = pieces_max;
    limits_.rma_bytes_max = self_::rma_bytes_max;
    limits_.rma_inflight_max = 16;
    limits_.connections_max = 0;
}

bool SelfTransport::reaches(std::string_view endpoint) const noexcept {
    if (is_own(endpoint)) return true;
    if (alone_ || !endpoint.starts_with("self://")) return false;
    const std::lock_guard lock(directory().mutex);
    return directory().transports.contains(endpoint);
}

Result<std::unique_ptr<na::Port>> SelfTransport::open_port(na::PortHost& host) {
    const na::ContextId context = host.context_id();
    if (context >= mailboxes_.size()) return Error(Errc::too_large, "the context id is not below contexts_max");
    auto mailbox = std::make_shared<Mailbox>(network_, host, options_.receive_slots, options_.message_bytes_max);
    {
        const std::lock_guard lock(mutex_);
        if (mailboxes_[context]) return Error(Errc::exists, "a context with that id is open already");
        mailboxes_[context] = mailbox;
    }
    return std::unique_ptr<na::Port>(std::make_unique<SelfPort>(*this, host, std::move(mailbox)));
}

Errc SelfTransport::revoke(na::Lease& lease) noexcept {
    network_->leases.revoke(lease);
    return Errc::ok;
}

std::shared_ptr<Mailbox> SelfTransport::find(std::string_view endpoint, na::ContextId context) {
    if (is_own(endpoint)) return own_mailbox(context);
    const std::lock_guard lock(directory().mutex);
    const auto other = directory().transports.find(endpoint);
    return other == directory().transports.end() ? nullptr : other->second->own_mailbox(context);
}

std::shared_ptr<Mailbox> SelfTransport::own_mailbox(na::ContextId context) {
    const std::lock_guard lock(mutex_);
    return context < mailboxes_.size() ? mailboxes_[context] : nullptr;
}

void SelfTransport::close_port(na::ContextId context) {
    const std::lock_guard lock(mutex_);
    mailboxes_[context].reset();
}

na::Addr SelfTransport::addr_of(na::ContextId context) const {
    return na::Addr::make({network_->endpoint}, context, network_->incarnation);
}

}  // namespace cinnabar::self_
