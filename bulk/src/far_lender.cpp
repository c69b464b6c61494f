// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/na/guests.hpp>

#include <limits>
#include <new>
#include <utility>

namespace cinnabar::bulk {
namespace {

class FarRegistration final : public na::Memory {
  public:
    FarRegistration(na::Transport& lender, std::span<const na::Segment> segments, na::Access access)
        : na::Memory(lender, segments, access) {}
};

}  // namespace

FarLender::FarLender() {
    caps_.offset_addressing = true;
    caps_.revocable = true;
    caps_.confines = caps_.admits_guests = true;
    limits_.segments_max = std::numeric_limits<std::size_t>::max();
    limits_.lease_key_bytes_max = far_key_bytes;
}

FarLender::~FarLender() { CINNABAR_ASSERT(entries_.empty()); }

Result<std::unique_ptr<na::Memory>> FarLender::register_memory(std::span<const na::Segment> segments,
                                                               na::Access access) {
    return std::unique_ptr<na::Memory>(std::make_unique<FarRegistration>(*this, segments, access));
}

Errc FarLender::grant(na::Lease& lease) noexcept {
    const auto* const window = static_cast<const Region*>(std::exchange(lease.registration, nullptr));
    CINNABAR_ASSERT(window && !lease.granted());
    if (!na::allows(window->access(), lease.access)) return Errc::permission;
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= far_leases_max) return Errc::too_large;
    const std::uint64_t key = secret_u64();
    try {
        const auto [place, is_new] = entries_.try_emplace(key);
        if (!is_new) return Errc::too_large;  // a collision: once in 2^48
        place->second.window = *window;
        place->second.access = lease.access;
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    lease.key = key;
    return Errc::ok;
}

void FarLender::confine(const na::Lease& lease, const na::Peer& peer) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(lease.key);
    CINNABAR_ASSERT(found != entries_.end());
    found->second.confined_to = &peer;
    found->second.guests = lease.guests;
}

Errc FarLender::revoke(na::Lease& lease) noexcept {
    Region window;  // released without the lock
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(lease.key);
    CINNABAR_ASSERT(found != entries_.end() && !found->second.is_revoked);
    Entry& entry = found->second;
    if (entry.uses.empty()) {
        window = std::move(entry.window);
        entries_.erase(found);
        lease.key = 0;
        return Errc::ok;
    }
    entry.is_revoked = true;
    entry.fenced = &lease;
    for (Use* use = entry.uses.front(); use; use = decltype(entry.uses)::next(*use)) use->stop(*use);
    return Errc::again;
}

Errc FarLender::begin(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, na::Access access,
                      Use& use) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.is_revoked) return Errc::permission;
    Entry& entry = found->second;
    if (!na::allows(entry.access, access)) return Errc::permission;
    if (entry.confined_to && entry.confined_to != use.by) {
        if (!entry.guests || !use.from || !entry.guests->include(*use.from)) return Errc::permission;
    }
    if (offset > entry.window.bytes() || bytes > entry.window.bytes() - offset) return Errc::too_large;
    use.memory = entry.window.slice(offset, bytes);
    use.key = key;
    entry.uses.push_back(use);
    return Errc::ok;
}

void FarLender::end(Use& use) noexcept {
    use.memory = {};
    Region window;
    na::Lease* fenced = nullptr;
    {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(use.key);
        CINNABAR_ASSERT(found != entries_.end());
        Entry& entry = found->second;
        entry.uses.remove(use);
        if (!entry.is_revoked || !entry.uses.empty()) return;
        fenced = entry.fenced;
        window = std::move(entry.window);
        entries_.erase(found);
        if (!fenced) return;
        fenced->key = 0;
    }
    fenced->fenced.run(fenced->fenced);
}

void FarLender::give_up(na::Lease& lease) noexcept {
    {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(lease.key);
        if (found == entries_.end() || found->second.fenced != &lease) return;
        found->second.fenced = nullptr;
        lease.slot = static_cast<std::uint32_t>(lease.key >> 32);  // for is_accessed
        lease.generation = static_cast<std::uint32_t>(lease.key);
        lease.key = 0;
        lease.fence_failed = true;
    }
    lease.fenced.run(lease.fenced);
}

bool FarLender::is_accessed(const na::Lease& lease) noexcept {
    const std::lock_guard lock(mutex_);
    return entries_.contains(std::uint64_t{lease.slot} << 32 | lease.generation);
}

}  // namespace cinnabar::bulk
