// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/base/same_secret.hpp>
#include <cinnabar/na/guests.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/peer.hpp>

#include <sched.h>
#include <sys/random.h>

#include <array>

namespace cinnabar::na {
namespace {

// Random keys are fetched from the kernel in batches, so that most grants make no system call.
std::uint64_t fresh_key() noexcept {
    thread_local std::array<std::uint64_t, 32> keys{};
    thread_local std::size_t left = 0;
    for (;;) {
        if (left == 0) {
            const auto count = ::getrandom(keys.data(), sizeof keys, 0);
            CINNABAR_ASSERT(count == static_cast<ssize_t>(sizeof keys));
            left = keys.size();
        }
        if (const std::uint64_t key = keys[--left]) return key;
    }
}

}  // namespace

Errc LeaseTable::grant(Lease& lease) noexcept {
    CINNABAR_ASSERT(!lease.granted() && lease.memory);
    if (!allows(lease.memory->access(), lease.access)) return Errc::permission;
    if (lease.offset > lease.memory->bytes() || lease.bytes > lease.memory->bytes() - lease.offset) {
        return Errc::invalid_argument;
    }
    Slot* slot = slots_.acquire();
    if (!slot) return Errc::too_large;
    slot->memory = lease.memory;
    slot->offset = lease.offset;
    slot->bytes = lease.bytes;
    slot->access = lease.access;
    slot->confined_to.store(nullptr, std::memory_order_relaxed);
    lease.key = fresh_key();
    lease.slot = slot->slot_index;
    lease.generation = slot->generation.load(std::memory_order_relaxed);
    // The store to `pins` publishes all fields: pin() reads them only after it has seen `pins` without revoked_bit.
    slot->key.store(lease.key, std::memory_order_relaxed);
    slot->pins.fetch_and(~revoked_bit, std::memory_order_release);
    return Errc::ok;
}

// A plain write of the guests and a relaxed store are enough: no peer has the key before this call.
void LeaseTable::confine(const Lease& lease, const Peer& peer) noexcept {
    CINNABAR_ASSERT(lease.granted());
    Slot* const slot = slots_.made(lease.slot);
    slot->guests = lease.guests;
    slot->confined_to.store(&peer, std::memory_order_relaxed);
}

void LeaseTable::revoke(Lease& lease) noexcept {
    while (!close(lease)) ::sched_yield();
    give_back(lease.slot);
    lease.key = 0;
}

void LeaseTable::give_back(std::uint32_t index) noexcept {
    Slot* slot = slots_.made(index);
    slot->key.store(0, std::memory_order_relaxed);
    slot->generation.fetch_add(1, std::memory_order_relaxed);
    slot->guests.reset();
    slots_.release(*slot);
}

bool LeaseTable::pinned(std::uint32_t slot) const noexcept {
    return (slots_.made(slot)->pins.load(std::memory_order_acquire) & ~revoked_bit) != 0;
}

bool LeaseTable::close(const Lease& lease) noexcept {
    CINNABAR_ASSERT(lease.granted());
    Slot* slot = slots_.made(lease.slot);
    CINNABAR_ASSERT(slot->key.load(std::memory_order_relaxed) == lease.key);
    return (slot->pins.fetch_or(revoked_bit, std::memory_order_acq_rel) & ~revoked_bit) == 0;
}

LeaseTable::Pin LeaseTable::pin(const LeaseKey& key, std::uint64_t offset, std::uint64_t bytes, Access want,
                                const Peer* by) noexcept {
    Slot* slot = slots_.at(key.slot);
    if (!slot || key.key == 0) return Pin(Errc::permission);
    const std::uint32_t before = slot->pins.fetch_add(1, std::memory_order_acquire);
    Pin pin(slot, nullptr, 0);  // from here on the slot cannot be reused
    if ((before & revoked_bit) != 0) return Pin(Errc::permission);
    if (!same_secret(slot->key.load(std::memory_order_relaxed), key.key) ||
        slot->generation.load(std::memory_order_relaxed) != key.generation || !allows(slot->access, want)) {
        return Pin(Errc::permission);
    }
    const Peer* const only = slot->confined_to.load(std::memory_order_relaxed);
    if (only && only != by) [[unlikely]] {
        if (!slot->guests || !by || !slot->guests->include(by->addr())) return Pin(Errc::permission);
    }
    if (offset > slot->bytes || bytes > slot->bytes - offset) return Pin(Errc::too_large);
    pin.memory_ = slot->memory;
    pin.offset_ = slot->offset + offset;
    return pin;
}

}  // namespace cinnabar::na
