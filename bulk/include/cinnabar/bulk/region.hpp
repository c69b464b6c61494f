// SPDX-License-Identifier: BSD-3-Clause
// Region: memory for bulk transfers. It has one or more segments, addressed as one range of bytes, and is registered
// with each transport once, at its first use there. A Region is a reference-counted handle: copies and slices register
// nothing. Thread-safe.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/blocks.hpp>
#include <cinnabar/bulk/far_memory.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cinnabar::bulk {

class RegionBody;

// Part of a region that is in quarantine. The region has a list of them.
struct Quarantine {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Quarantine* next = nullptr;
};

// A handle to all or part (a slice) of a region. Memory given to expose() belongs to the caller and must live until the
// last handle is gone.
class CINNABAR_API Region {
  public:
    Region() = default;

    // Makes a region of the caller's memory; registers nothing yet. `access` limits what peers may do. A region without
    // `write` is registered read-only, so a local pull cannot write to it either. invalid_argument: 0 bytes in all, or
    // a null segment.
    [[nodiscard]] static Result<Region> expose(std::span<const na::Segment> segments, na::Access access);
    [[nodiscard]] static Result<Region> expose(Bytes bytes, na::Access access);
    // Read-only memory: peers may pull from it, and this side may push from it.
    [[nodiscard]] static Result<Region> expose(ConstBytes bytes);
    // Allocates memory that is page-aligned, zeroed, not inherited by forked children, and freed with the last handle.
    // If `preferred` is set, that transport may provide it (Transport::allocate_memory). out_of_memory;
    // invalid_argument: 0 bytes.
    [[nodiscard]] static Result<Region> allocate(std::size_t bytes, na::Access access,
                                                 const std::shared_ptr<na::Transport>& preferred = nullptr);

    // Far memory (far_memory.hpp): bytes that the processor does not address. They are moved through staging buffers;
    // such a region cannot be viewed.
    //
    // The bytes [offset, offset + bytes) of a file. The region duplicates the descriptor, so `fd` may be closed. Peers
    // read the current contents of the file. A read beyond its end makes the transfer fail with `stale`, a failing disk
    // with `io` or `no_space`. When a transfer has ended, the bytes it wrote are in the file, but not necessarily on
    // the disk. The file is not locked. invalid_argument: 0 bytes; or the file is neither a regular file nor a block
    // device; or it is open with O_APPEND or O_DIRECT; or `access` is read-only and the range ends beyond the end of
    // the file. permission: `fd` is not open for `access`. overloaded: no descriptor or thread is left.
    [[nodiscard]] static Result<Region> of_file(int fd, std::uint64_t offset, std::uint64_t bytes, na::Access access);
    // All of the memory. invalid_argument: null, or 0 bytes.
    [[nodiscard]] static Result<Region> of_far(std::shared_ptr<FarMemory> memory, na::Access access);
    // Concatenates regions, at least one of which is far. Host memory among them is moved through staging buffers, too.
    // Keeps the parts alive. invalid_argument: there is no part, a part is empty, or no part is far (then use expose()
    // with the segments). permission: `access` exceeds that of a part.
    [[nodiscard]] static Result<Region> join(std::span<const Region> parts, na::Access access);

    // A handle to the bytes [offset, offset + bytes) of this one. Requires: they lie inside.
    [[nodiscard]] Region slice(std::uint64_t offset, std::uint64_t bytes) const;
    // The whole region, if this is a slice of it.
    [[nodiscard]] Region whole() const noexcept;
    // A new region that consists of blocks of this region, in the order of the list. It can be lent and moved like any
    // other. It keeps this region alive, and is registered separately. invalid_argument: the blocks do not lie inside,
    // or overlap although `access` includes writing. permission: `access` exceeds that of this region. too_large: more
    // than descriptor_segments_max pieces that are not adjacent.
    [[nodiscard]] Result<Region> select(const Blocks& blocks, na::Access access) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }  // of this slice in the region
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept;
    // Whether the whole region contains far memory.
    [[nodiscard]] bool is_far() const noexcept;
    // True while a peer may still access some of these bytes although the call that lent them has ended: the peer did
    // not end its access, and the transport could not revoke it. The quarantine ends when the connection to that peer
    // ends, which also ends the access of a third party to which the peer forwarded the memory. Until then, do not
    // read, write, lend or free the memory. Device memory of which such a peer has a handle (decision 94) stays in
    // quarantine until this process ends. Far memory that a call lent is in quarantine until the last copy of it has
    // ended, for instance while a disk hangs. For a joined region, only the joined region reports this, not its parts.
    [[nodiscard]] bool quarantined() const noexcept;
    // Begins a quarantine that never ends, also of the parts of a joined region, and keeps the memory registered.
    void quarantine_for_good() const noexcept;
    // The segments of the whole region. The address of a far segment is null; if there is one, far_segments() has an
    // entry for each segment, otherwise it is empty.
    [[nodiscard]] std::span<const na::Segment> segments() const noexcept;
    [[nodiscard]] std::span<const FarSegment> far_segments() const noexcept;
    [[nodiscard]] std::span<const std::uint64_t> segment_ends() const noexcept;  // cumulative sums of their sizes
    // The bytes as one span; empty if they are in several segments, or the region is far.
    [[nodiscard]] Bytes contiguous() const noexcept;
    // Copy between this slice and plain memory, across segments. Requires: the range is inside the slice; the slice is
    // not far; for copy_in, the region is writable.
    void copy_out(std::uint64_t offset, Bytes to) const noexcept;
    void copy_in(std::uint64_t offset, ConstBytes from) const noexcept;
    // Like copy_out and copy_in, but for any region, far or not. They may block, so do not call them on a thread that
    // drives a context. If a copy fails, the bytes before the failure have been copied.
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) const noexcept;
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) const noexcept;

    // The registration with a transport. The first call makes it (takes a lock and may make a system call); later calls
    // take no lock. The region keeps the transport alive. Errors: Transport::register_memory; unsupported: the region
    // is far, and the transport is not the lender of far memory (far_lender.hpp).
    [[nodiscard]] Result<na::Memory*> memory_on(const std::shared_ptr<na::Transport>& transport) const;

  private:
    friend class Lend;
    void begin_quarantine(Quarantine& quarantine) const noexcept;
    void end_quarantine(Quarantine& quarantine) const noexcept;
    [[nodiscard]] static Result<Region> of_segments(std::vector<na::Segment> segments, std::vector<FarSegment> far,
                                                    std::vector<Region> parts, na::Access access);
    Region(std::shared_ptr<RegionBody> body, std::uint64_t offset, std::uint64_t bytes) noexcept;
    std::shared_ptr<RegionBody> body_;
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace cinnabar::bulk
