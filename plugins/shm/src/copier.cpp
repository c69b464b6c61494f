// SPDX-License-Identifier: BSD-3-Clause
// Copier: memory that the peer's library allocated is mapped and copied with memcpy; other memory is copied by the
// kernel. While a window is copied, its lease is pinned, and the ring's header names that lease: if this process dies,
// the owner can tell that the pin is a dead process's.
#include "copier.hpp"

#include "lease_key.hpp"
#include "port.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr std::size_t pieces_max = 128;
constexpr std::size_t pieces_read_max = 64;

Errc errc_of_copy(int os_errno) noexcept {
    switch (os_errno) {
        case ESRCH:
            return Errc::peer_lost;
        case ENOMEM:
            return Errc::out_of_memory;
        case EPERM:
            return Errc::unsupported;  // the kernel no longer allows it
        default:
            return Errc::io;  // EFAULT: memory that is not mapped, here or in the peer
    }
}

bool read_from(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) noexcept {
    const iovec here{to, bytes};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
    return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

// The pieces of memory on both sides that one system call copies.
struct Copier::Window {
    std::array<iovec, pieces_max> here;
    std::array<iovec, pieces_read_max> there;
    std::size_t here_count = 0;
    std::size_t there_count = 0;
    std::uint64_t bytes = 0;

    void add_there(std::uint64_t address, std::uint64_t size) noexcept {
        there[there_count++] =
            iovec{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(size)};
        bytes += size;
    }
};

// Finds the owner's segments from `position` of its registration on, by reading their table from the owner's memory.
Errc Copier::find_pieces(const BoardView::Pinned& pinned, std::uint64_t position, std::uint64_t bytes,
                         Window& out) noexcept {
    const auto read = [&](std::uint32_t index, BoardPiece* to, std::uint32_t count) {
        return read_from(channel_.process.pid(), pinned.address + std::uint64_t{index} * sizeof(BoardPiece), to,
                         count * sizeof(BoardPiece));
    };
    // The first piece that ends after `position` is in [low, high).
    std::uint32_t low = 0;
    std::uint32_t high = pinned.pieces;
    while (high - low > pieces_read_max - 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        BoardPiece piece;
        if (!read(middle, &piece, 1)) return errc_of_copy(errno);
        (piece.end > position ? high : low) = middle + 1;
    }
    const std::uint32_t first = low > 0 ? low - 1 : 0;
    const auto count = std::min<std::uint32_t>(pinned.pieces - first, pieces_read_max);
    std::array<BoardPiece, pieces_read_max> pieces;
    if (!read(first, pieces.data(), count)) return errc_of_copy(errno);
    std::uint64_t begin = 0;  // known for the first piece of the table, and for each that follows another one
    for (std::uint32_t i = 0; i < count && out.bytes < bytes; ++i) {
        const std::uint64_t end = pieces[i].end;
        const bool begin_known = i > 0 || first == 0;
        if (begin_known && end > position && begin <= position) {
            const std::uint64_t take = std::min(end - position, bytes - out.bytes);
            out.add_there(pieces[i].address + (position - begin), take);
            position += take;
        }
        begin = end;
    }
    return out.bytes > 0 ? Errc::ok : Errc::protocol;
}

Errc Copier::find_window(const na::Op& op, std::uint64_t moved, std::uint64_t bytes_max,
                         const BoardView::Pinned& pinned, Window& out) noexcept {
    std::uint64_t want = std::min(op.bytes - moved, bytes_max);
    const std::uint64_t offset = pinned.offset + op.remote_offset + moved;
    if (pinned.pieces == 0) {
        out.add_there(pinned.address + op.remote_offset + moved, want);
    } else if (const Errc why = find_pieces(pinned, offset, want, out); why != Errc::ok) {
        return why;
    }
    want = out.bytes;
    out.here_count = op.local->gather(op.local_offset + moved, want, out.here.data(), out.here.size(), out.bytes);
    // If the local memory has too many pieces for one call, the remote side is cut to the same length.
    for (std::uint64_t over = want - out.bytes; over > 0;) {
        iovec& last = out.there[out.there_count - 1];
        const std::uint64_t cut = std::min<std::uint64_t>(over, last.iov_len);
        last.iov_len -= static_cast<std::size_t>(cut);
        over -= cut;
        if (last.iov_len == 0) --out.there_count;
    }
    return Errc::ok;
}

Errc Copier::copy_across(na::PostedOp& posted, std::uint64_t bytes_max, const BoardView::Pinned& pinned,
                         std::uint64_t& copied) noexcept {
    const na::Op& op = *posted.op;
    if (!channel_.process.is_there(channel_.socket.get())) return Errc::peer_lost;
    Window window;
    const Errc why = find_window(op, posted.moved, bytes_max, pinned, window);
    if (why != Errc::ok || window.bytes == 0) return why;
    const auto call = op.kind == na::OpKind::get ? ::process_vm_readv : ::process_vm_writev;
    const ssize_t done =
        call(channel_.process.pid(), window.here.data(), window.here_count, window.there.data(), window.there_count, 0);
    if (done <= 0) return done < 0 ? errc_of_copy(errno) : Errc::io;
    copied = static_cast<std::uint64_t>(done);
    return Errc::ok;
}

// Copies memory that the peer's library allocated. unsupported: it cannot be mapped.
Errc Copier::copy_mapped(na::PostedOp& posted, std::uint64_t bytes_max, const BoardView::Pinned& pinned,
                         std::uint64_t& copied) noexcept {
    const na::Op& op = *posted.op;
    const Segment* const file = channel_.files.map(channel_.process, pinned.file, pinned.serial).get();
    const std::uint64_t position = pinned.offset + op.remote_offset + posted.moved;
    const std::uint64_t want = std::min(op.bytes - posted.moved, bytes_max);
    if (!file || position > file->bytes() || want > file->bytes() - position) return Errc::unsupported;
    std::byte* there = file->base() + position;
    std::array<iovec, pieces_max> here;
    const std::size_t pieces = op.local->gather(op.local_offset + posted.moved, want, here.data(), here.size(), copied);
    for (std::size_t i = 0; i < pieces; ++i) {
        void* const to = op.kind == na::OpKind::get ? here[i].iov_base : there;
        std::memcpy(to, op.kind == na::OpKind::get ? there : here[i].iov_base, here[i].iov_len);
        there += here[i].iov_len;
    }
    return Errc::ok;
}

// Copies the next window. ok: `copied` more bytes are in place.
Errc Copier::copy_window(na::PostedOp& posted, std::uint64_t bytes_max, std::uint64_t& copied) noexcept {
    const na::Op& op = *posted.op;
    const std::uint32_t slot = board_slot_of(op.remote.key);
    ByteReader reader(op.remote.key);
    const auto key = na::LeaseKey::decode(reader);
    auto& holding = channel_.outgoing_ring->header().holding;
    holding.store(std::uint64_t{slot} + 1, std::memory_order_seq_cst);
    BoardView::Pinned pinned;
    Errc why = channel_.board.pin(slot, key, op.remote_offset, op.bytes,
                                  op.kind == na::OpKind::get ? na::Access::read : na::Access::write, pinned);
    if (why == Errc::ok) {
        if (op.bytes > posted.moved) {
            why = pinned.file != 0 ? copy_mapped(posted, bytes_max, pinned, copied) : Errc::unsupported;
            if (why == Errc::unsupported) why = copy_across(posted, bytes_max, pinned, copied);
        }
        (void)channel_.board.unpin(slot);
    }
    holding.store(0, std::memory_order_release);
    return why;
}

bool Copier::takes(const na::Op& op) const noexcept {
    return channel_.copies && !na::is_atomic(op.kind) && board_slot_of(op.remote.key) < channel_.board_slots;
}

void Copier::add(na::PostedOp& posted) noexcept {
    posted.stage = na::OpStage::copying;
    copying_.push_back(posted);
    session_.port().copies().add(session_);
}

void Copier::cancel(na::PostedOp& posted) noexcept {
    (posted.stage == na::OpStage::copying ? copying_ : notifies_).remove(posted);
    session_.port().end(posted, Errc::canceled);
}

void Copier::end(Errc why) noexcept {
    while (na::PostedOp* posted = copying_.pop_front()) session_.port().end(*posted, why);
    while (na::PostedOp* posted = notifies_.pop_front()) session_.port().end(*posted, why);
}

void Copier::copied(na::PostedOp& posted, Errc result) noexcept {
    ShmPort& port = session_.port();
    if (result != Errc::ok || posted.op->kind != na::OpKind::put_notify) {
        port.end(posted, result);
    } else {
        posted.stage = na::OpStage::notifies;
        notifies_.push_back(posted);
        port.output().retry(session_);
    }
    // The socket does not report the loss if a child that the peer forked still has it open.
    if (result == Errc::peer_lost) session_.fail(result);
}

std::uint64_t Copier::copy_next(std::uint64_t bytes_max) noexcept {
    na::PostedOp* posted = copying_.front();
    if (!posted || session_.peer().ending()) return 0;
    std::uint64_t done = 0;
    const Errc why = copy_window(*posted, bytes_max, done);
    posted->moved += done;
    if (why == Errc::unsupported) {
        // From now on the peer carries out all operations; those in progress start again.
        channel_.copies = false;
        while (na::PostedOp* each = copying_.pop_front()) {
            each->stage = na::OpStage::rma;
            session_.peer().rma.push_back(*each);
        }
        session_.port().output().retry(session_);
    } else if (why != Errc::ok || posted->moved == posted->op->bytes) {
        copying_.remove(*posted);
        copied(*posted, why);
    }
    return done;
}

}  // namespace cinnabar::shm
