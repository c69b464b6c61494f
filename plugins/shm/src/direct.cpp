// SPDX-License-Identifier: BSD-3-Clause
#include "direct.hpp"

#include "port.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::shm {
namespace {

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "other processes must be able to share the words");

template <typename W>
[[nodiscard]] bool is_word(const std::byte* at, std::size_t bytes) noexcept {
    return bytes == sizeof(W) && reinterpret_cast<std::uintptr_t>(at) % sizeof(W) == 0;
}

template <typename W>
void load(std::byte* from, std::byte* to) noexcept {
    const W value = std::atomic_ref<W>(*reinterpret_cast<W*>(from)).load(std::memory_order_acquire);
    std::memcpy(to, &value, sizeof(value));
}

template <typename W>
void store(std::byte* to, const std::byte* from) noexcept {
    W value = 0;
    std::memcpy(&value, from, sizeof(value));
    std::atomic_ref<W>(*reinterpret_cast<W*>(to)).store(value, std::memory_order_release);
}

template <typename W>
std::uint64_t apply(std::byte* at, const na::DirectWord& word) noexcept {
    const std::atomic_ref<W> there(*reinterpret_cast<W*>(at));
    const auto value = static_cast<W>(word.value);
    auto before = static_cast<W>(word.expected);
    switch (word.op) {
        case na::DirectOp::fetch_add:
            return there.fetch_add(value);
        case na::DirectOp::exchange:
            return there.exchange(value);
        case na::DirectOp::compare_swap:
            (void)there.compare_exchange_strong(before, value);
            return before;
    }
    return 0;
}

}  // namespace

// Pins the memory while `move` accesses it. The access is announced in the direct slot before the lease is pinned. So
// if the peer revokes the lease, either the peer sees the announcement before it sees the pin, or the pin is refused.
template <typename Move>
Errc MappedMemory::pinned(std::uint64_t offset, std::uint64_t bytes, na::Access want, const Move& move) noexcept {
    while (busy_.exchange(true, std::memory_order_acquire)) (void)::sched_yield();
    Errc why = Errc::peer_lost;
    if (slot_.enter(lease_.slot)) {
        BoardView::Pinned there;
        why = board_.pin(lease_.slot, lease_.key, offset_ + offset, bytes, want, there);
        if (why == Errc::ok) {
            move(lease_.file->base() + lease_.position + offset);
            const bool stands = board_.unpin(lease_.slot);
            if (!stands && want == na::Access::read) why = Errc::stale;
        } else {
            why = Errc::stale;  // it was granted when the memory was mapped
        }
    }
    slot_.leave();
    busy_.store(false, std::memory_order_release);
    return why;
}

Errc MappedMemory::read(std::uint64_t offset, Bytes to) noexcept {
    if (offset > bytes() || to.size() > bytes() - offset) return Errc::too_large;
    if (!na::allows(access_, na::Access::read)) return Errc::permission;
    do {
        const Bytes step = to.first(std::min(to.size(), direct_step_bytes));
        const Errc why = pinned(offset, step.size(), na::Access::read, [step](std::byte* there) noexcept {
            if (is_word<std::uint64_t>(there, step.size())) {
                load<std::uint64_t>(there, step.data());
            } else if (is_word<std::uint32_t>(there, step.size())) {
                load<std::uint32_t>(there, step.data());
            } else if (!step.empty()) {
                std::memcpy(step.data(), there, step.size());
            }
        });
        if (why != Errc::ok) return why;
        offset += step.size();
        to = to.subspan(step.size());
    } while (!to.empty());
    return Errc::ok;
}

Errc MappedMemory::write(std::uint64_t offset, ConstBytes from) noexcept {
    if (offset > bytes() || from.size() > bytes() - offset) return Errc::too_large;
    if (!na::allows(access_, na::Access::write)) return Errc::permission;
    do {
        const ConstBytes step = from.first(std::min(from.size(), direct_step_bytes));
        const Errc why = pinned(offset, step.size(), na::Access::write, [step](std::byte* there) noexcept {
            if (is_word<std::uint64_t>(there, step.size())) {
                store<std::uint64_t>(there, step.data());
            } else if (is_word<std::uint32_t>(there, step.size())) {
                store<std::uint32_t>(there, step.data());
            } else if (!step.empty()) {
                std::memcpy(there, step.data(), step.size());
            }
        });
        if (why != Errc::ok) return why;
        offset += step.size();
        from = from.subspan(step.size());
    } while (!from.empty());
    return Errc::ok;
}

Errc MappedMemory::word(std::uint64_t offset, na::DirectWord& word) noexcept {
    if (word.bytes != 4 && word.bytes != 8) return Errc::invalid_argument;
    if (offset > bytes() || word.bytes > bytes() - offset) return Errc::too_large;
    if (!na::allows(access_, na::Access::read_write)) return Errc::permission;
    if ((lease_.position + offset) % word.bytes != 0) return Errc::invalid_argument;  // the mapping is of whole pages
    return pinned(offset, word.bytes, na::Access::read_write, [&word](std::byte* there) noexcept {
        word.before = word.bytes == 8 ? apply<std::uint64_t>(there, word) : apply<std::uint32_t>(there, word);
    });
}

Result<std::unique_ptr<na::DirectMemory>> ShmPort::direct(na::Peer& peer, const na::RemoteMemory& memory,
                                                          std::uint64_t offset, std::uint64_t bytes,
                                                          na::Access access) {
    Session* const session = static_cast<ShmPeer&>(peer).session;
    if (!session) return Error(Errc::peer_lost, "direct access needs a session with the owner of the memory");
    Channel& channel = session->channel();
    CINNABAR_TRY(MappedLease lease, map_lease(channel, memory, offset, bytes, access));
    DirectSlot slot(channel.outgoing_ring);
    if (!slot) {
        return Error(Errc::overloaded,
                     "this connection has its maximum of mappings for direct access: drop some, or share fewer and "
                     "larger pieces of memory");
    }
    return std::unique_ptr<na::DirectMemory>(
        std::make_unique<MappedMemory>(std::move(lease), offset, bytes, access, channel.board, std::move(slot)));
}

}  // namespace cinnabar::shm
