// SPDX-License-Identifier: BSD-3-Clause
#include "view.hpp"

#include "direct.hpp"
#include "port.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::shm {

Result<MappedLease> map_lease(Channel& channel, const na::RemoteMemory& memory, std::uint64_t offset,
                              std::uint64_t bytes, na::Access want) {
    if (!channel.copies) return Error(Errc::unsupported, "this process may not map the peer's memory: pull it instead");
    if (memory.key.size() != key_bytes) return Error(Errc::permission, "not a lease key of shared memory");
    ByteReader reader(memory.key);
    MappedLease lease;
    lease.key = na::LeaseKey::decode(reader);
    lease.slot = board_slot_of(memory.key);
    // Names the lease in the ring, as a copy does: otherwise the pin would be taken for a dead process's, and the slot
    // could be given to another lease.
    auto& holding = channel.outgoing_ring->header().holding;
    holding.store(std::uint64_t{lease.slot} + 1, std::memory_order_seq_cst);
    BoardView::Pinned pinned;
    const Errc why = channel.board.pin(lease.slot, lease.key, offset, bytes, want, pinned);
    if (why == Errc::ok) {
        if (pinned.file != 0) lease.file = channel.files.map(channel.process, pinned.file, pinned.serial);
        (void)channel.board.unpin(lease.slot);
    }
    holding.store(0, std::memory_order_release);
    if (why != Errc::ok) return Error(why, "the lease is revoked, or does not allow this access");
    lease.position = pinned.offset + offset;
    const Segment* const file = lease.file.get();
    if (!file || lease.position > file->bytes() || bytes > file->bytes() - lease.position) {
        return Error(Errc::unsupported, "only memory that the peer's library allocated can be mapped: pull it instead");
    }
    return lease;
}

Result<std::unique_ptr<na::View>> ShmPort::view(na::Peer& peer, const na::RemoteMemory& memory, std::uint64_t offset,
                                                std::uint64_t bytes) {
    Session* const session = static_cast<ShmPeer&>(peer).session;
    if (!session) return Error(Errc::peer_lost, "a view needs a session with the owner of the memory");
    Channel& channel = session->channel();
    CINNABAR_TRY(MappedLease lease, map_lease(channel, memory, offset, bytes, na::Access::read));
    const ConstBytes there(lease.file->base() + lease.position, static_cast<std::size_t>(bytes));
    return std::unique_ptr<na::View>(
        std::make_unique<MappedView>(there, std::move(lease.file), channel.board.segment(), lease.slot, lease.key));
}

}  // namespace cinnabar::shm
