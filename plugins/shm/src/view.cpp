// SPDX-License-Identifier: BSD-3-Clause
#include "view.hpp"

#include "port.hpp"

namespace cinnabar::shm {

Result<std::unique_ptr<na::View>> ShmPort::view(na::Peer& peer, const na::RemoteMemory& memory, std::uint64_t offset,
                                                std::uint64_t bytes) {
    Session* const session = static_cast<ShmPeer&>(peer).session;
    if (!session) return Error(Errc::peer_lost, "a view needs a session with the owner of the memory");
    return session->view(memory, offset, bytes);
}

Result<std::unique_ptr<na::View>> Session::view(const na::RemoteMemory& memory, std::uint64_t offset,
                                                std::uint64_t bytes) {
    if (!channel_.copies)
        return Error(Errc::unsupported, "this process may not map the peer's memory: pull it instead");
    if (memory.key.size() != key_bytes) return Error(Errc::permission, "not a lease key of shared memory");
    Reader reader(memory.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    const std::uint32_t slot = board_slot_of(memory.key);
    BoardView::Pinned pinned;
    if (const Errc why = channel_.board.pin(slot, key, offset, bytes, na::Access::read, pinned); why != Errc::ok) {
        return Error(why, "the lease is revoked, or does not allow this access");
    }
    std::shared_ptr<const Segment> file;
    if (pinned.file != 0) file = channel_.files.map(channel_.process, pinned.file, pinned.serial);
    channel_.board.unpin(slot);
    const std::uint64_t position = pinned.offset + offset;
    if (!file || position > file->bytes() || bytes > file->bytes() - position) {
        return Error(Errc::unsupported, "only memory that the peer's library allocated can be mapped: pull it instead");
    }
    const ConstBytes there(file->base() + position, static_cast<std::size_t>(bytes));
    return std::unique_ptr<na::View>(
        std::make_unique<MappedView>(there, std::move(file), channel_.board.segment(), slot, key));
}

}  // namespace cinnabar::shm
