// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/lend.hpp>

#include <new>
#include <utility>

namespace cinnabar::bulk {

Lend::Lend() noexcept {
    fenced.user = this;
    lease_.fenced.user = this;
}

Lend::~Lend() { CINNABAR_ASSERT(!granted()); }

Errc Lend::grant(Region window, na::Access access, const std::shared_ptr<na::Transport>& transport,
                 na::LentTo lent_to) noexcept {
    CINNABAR_ASSERT(!granted() && !quarantined() && window);
    try {
        auto memory = window.memory_on(transport);
        if (!memory) return memory.error().code;
        lease_.memory = *memory;
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    lease_.offset = window.offset();
    lease_.bytes = window.bytes();
    lease_.access = access;
    lease_.lent_to = lent_to;
    if (window.is_far()) lease_.registration = &window;  // the lender of far memory reads it
    const Errc granted = transport->grant(lease_);
    if (granted == Errc::ok) region_ = std::move(window);
    return granted;
}

Errc Lend::revoke() noexcept {
    CINNABAR_ASSERT(granted());
    lease_.guests.reset();  // the lender of the memory has its own reference
    lease_.fenced.run = &Lend::on_lease_fenced;
    const Errc revoked = lease_.memory->transport().revoke(lease_);
    if (revoked == Errc::ok) region_ = {};
    return revoked;
}

void Lend::on_lease_fenced(WorkItem& work) noexcept {
    Lend& lend = of(work);
    if (lend.quarantined()) {
        lend.region_.begin_quarantine(lend.quarantine_);
    } else {
        lend.region_ = {};
    }
    lend.fenced.run(lend.fenced);
}

bool Lend::is_accessed() const noexcept {
    CINNABAR_ASSERT(quarantined());
    return lease_.memory->transport().is_accessed(lease_);
}

void Lend::forget() noexcept {
    CINNABAR_ASSERT(!granted());
    if (lease_.fence_failed) region_.end_quarantine(quarantine_);
    lease_.fence_failed = false;
    region_ = {};
}

}  // namespace cinnabar::bulk
