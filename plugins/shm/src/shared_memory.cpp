// SPDX-License-Identifier: BSD-3-Clause
#include "shared_memory.hpp"

#include <cinnabar/base/assert.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <new>

namespace cinnabar::shm {

void* SharedMemory::allocate(std::size_t bytes) noexcept {
    Piece piece;
    struct stat status {};
    if (Segment::make("cinnabar-memory", bytes, piece.segment, piece.fd) != Errc::ok) return nullptr;
    if (::fstat(piece.fd.get(), &status) != 0) return nullptr;
    piece.serial = status.st_ino;
    std::byte* const base = piece.segment.base();
    (void)::madvise(base, bytes, MADV_HUGEPAGE);  // has an effect if the system has huge pages for shared memory
    try {
        const std::lock_guard lock(mutex_);
        pieces_.emplace(base, std::move(piece));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    return base;
}

void SharedMemory::free(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = pieces_.find(static_cast<const std::byte*>(memory));
    CINNABAR_ASSERT(at != pieces_.end());
    const Piece& piece = at->second;
    (void)::fallocate(piece.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                      static_cast<off_t>(piece.segment.bytes()));
    pieces_.erase(at);
}

FilePosition SharedMemory::find(const std::byte* base, std::size_t bytes) const noexcept {
    const std::lock_guard lock(mutex_);
    auto at = pieces_.upper_bound(base);
    if (at == pieces_.begin()) return {};
    const Piece& piece = (--at)->second;
    const auto position = static_cast<std::size_t>(base - at->first);
    if (position > piece.segment.bytes() || bytes > piece.segment.bytes() - position) return {};
    return {static_cast<std::uint32_t>(piece.fd.get()) + 1, piece.serial, position};
}

}  // namespace cinnabar::shm
