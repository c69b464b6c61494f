// SPDX-License-Identifier: BSD-3-Clause
// ShmTransport: how leases are revoked that peers access by copying. revoke() first closes the lease's slot on the
// lease board, so that no new access begins, and then waits until no pin is left. A pin lasts for one system call,
// unless the process is stopped or killed during that call. A peer that has a pin names the slot in the header of the
// ring that it writes; so if a pin is left on a slot that no ring names, the process that had the pin has died.
#include "port.hpp"
#include "transport.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace cinnabar::shm {
namespace {

// How long revoke() itself waits. A system call takes less than a millisecond, but its thread may be preempted.
constexpr TimeUs patience_us = 100'000;
// How long after patience_us the fence fails. The memory must then not be reused until the peer continues or dies.
constexpr TimeUs fence_us = 200'000;
constexpr unsigned yields_per_look = 32;
// The maximum number of ended sessions of one process to remember, because the process may still be in a system call.
constexpr std::ptrdiff_t lingering_per_process_max = 64;

std::uint64_t holding(const RingHeader& ring) noexcept { return ring.holding.load(std::memory_order_seq_cst); }
bool names(const RingHeader& ring, std::uint64_t slot) noexcept {
    return holding(ring) == slot || find_direct(ring, [slot](std::uint64_t named) noexcept { return named == slot; });
}
const RingHeader& header_of(const Segment& ring) noexcept { return *reinterpret_cast<const RingHeader*>(ring.base()); }

std::uint32_t slot_of(const na::Lease& lease) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(lease.registration)) - 1;
}

}  // namespace

Errc ShmTransport::grant(na::Lease& lease) noexcept {
    const Errc granted = leases_.grant(lease);
    if (granted != Errc::ok) return granted;
    const auto& memory = static_cast<const ShmMemory&>(*lease.memory);
    const std::uint32_t slot =
        board_.show(lease, memory.pieces().data(), memory.pieces().size(), memory.file_position());
    lease.registration = reinterpret_cast<void*>(std::uintptr_t{slot} + 1);
    return Errc::ok;
}

void ShmTransport::describe(const na::Lease& lease, ByteWriter& writer) const noexcept {
    na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
    writer.u32(slot_of(lease));
}

// Closes the lease in the lease table, by which this side carries out accesses for peers. The board still grants it.
bool ShmTransport::keep_to_direct(const na::Lease& lease) noexcept {
    if (slot_of(lease) == LeaseBoard::no_slot) return false;
    if (static_cast<const ShmMemory&>(*lease.memory).file_position().file == 0) return false;
    (void)leases_.close(lease);
    return true;
}

bool ShmTransport::watch(const RingHeader& incoming) noexcept {
    const std::lock_guard lock(fence_mutex_);
    forget_lingering();
    try {
        const std::size_t rings = incoming_rings_.size() + lingering_.size() + 1;
        if (lingering_.capacity() < rings) lingering_.reserve(2 * rings);
        incoming_rings_.push_back(&incoming);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void ShmTransport::unwatch(const RingHeader& incoming) noexcept {
    const std::lock_guard lock(fence_mutex_);
    std::erase(incoming_rings_, &incoming);
}

// Remembers the incoming ring of an ended session, because that ring says what the peer accesses: if this side ended
// the session, the peer may still be in a system call.
void ShmTransport::linger(const RingHeader& incoming, Segment memory, pid_t pid, PeerProcess process) noexcept {
    const std::lock_guard lock(fence_mutex_);
    std::erase(incoming_rings_, &incoming);
    forget_lingering();
    // A correct process never leaves this many, so the oldest may be forgotten.
    const auto same = [pid](const Lingering& one) { return one.pid == pid; };
    if (std::count_if(lingering_.begin(), lingering_.end(), same) >= lingering_per_process_max) {
        lingering_.erase(std::find_if(lingering_.begin(), lingering_.end(), same));
    }
    lingering_.push_back({std::move(memory), pid, std::move(process)});
}

// Forgets the rings of ended sessions whose process is dead or accesses no lease. Requires: fence_mutex_ is locked.
void ShmTransport::forget_lingering() noexcept {
    std::erase_if(lingering_, [](const Lingering& one) {
        const bool dead = one.pid == 0 || one.process.has_ended() || (::kill(one.pid, 0) != 0 && errno == ESRCH);
        return dead || (holding(header_of(one.incoming_ring)) == 0 && !accesses_directly(header_of(one.incoming_ring)));
    });
}

// Whether a ring says that a living process accesses the slot. Requires: the slot is closed; fence_mutex_ is locked.
bool ShmTransport::held(std::uint32_t slot) noexcept {
    forget_lingering();
    const std::uint64_t sought = std::uint64_t{slot} + 1;
    return std::any_of(incoming_rings_.begin(), incoming_rings_.end(),
                       [sought](const RingHeader* ring) { return names(*ring, sought); }) ||
           std::any_of(lingering_.begin(), lingering_.end(),
                       [sought](const Lingering& one) { return names(header_of(one.incoming_ring), sought); });
}

Errc ShmTransport::revoke(na::Lease& lease) noexcept {
    const std::uint32_t slot = slot_of(lease);
    const std::uint64_t key = lease.key;
    if (slot != LeaseBoard::no_slot) board_.close(slot);
    leases_.revoke(lease);
    if (slot == LeaseBoard::no_slot) return Errc::ok;
    const TimeUs begun = steady_clock().now_us();
    for (unsigned yields = 1; board_.pinned(slot); ++yields) {
        if (yields % yields_per_look == 0) {
            const std::lock_guard lock(fence_mutex_);
            if (!held(slot)) break;
            const TimeUs now = steady_clock().now_us();
            if (now - begun > patience_us) {
                lease.key = key;  // the lease counts as granted until the fence is over
                fences_.add(board_.fence_of(slot), lease, slot, now + fence_us);
                fences_wait_.store(true, std::memory_order_seq_cst);
                return Errc::again;
            }
        }
        (void)::sched_yield();
    }
    board_.give_back(slot);
    return Errc::ok;
}

bool ShmTransport::is_accessed(const na::Lease& lease) noexcept {
    const std::uint32_t slot = slot_of(lease);
    if (slot == LeaseBoard::no_slot) return false;
    const std::lock_guard lock(fence_mutex_);
    return na::PendingFences::has_failed(board_.fence_of(slot)) && board_.pinned(slot) && held(slot);
}

unsigned ShmTransport::check_fences(na::PortHost& host) noexcept {
    const std::lock_guard lock(fence_mutex_);
    const TimeUs now = steady_clock().now_us();
    unsigned done = 0;
    fences_.check(
        now, [this](std::uint32_t slot) noexcept { return !board_.pinned(slot) || !held(slot); },
        [&](na::Lease& lease) noexcept {
            host.submit(lease.fenced);
            ++done;
        },
        [this](std::uint32_t slot) noexcept { board_.give_back(slot); });
    fences_wait_.store(fences_.waiting() != 0, std::memory_order_seq_cst);
    return done;
}

}  // namespace cinnabar::shm
