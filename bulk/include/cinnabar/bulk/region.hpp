// SPDX-License-Identifier: BSD-3-Clause
// Region: memory for bulk transfers. A region has one or more segments, addressed as one range of bytes, and is
// registered once with each transport, when the transport first uses the region. A Region is a reference-counted
// handle: copies and slices register nothing. Thread-safe.
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

// A handle to a whole region, or to a part of a region (a slice). Memory given to expose() belongs to the caller and
// must live until the last handle is gone.
class CINNABAR_API Region {
  public:
    Region() = default;

    // Makes a region of the caller's memory; registers nothing yet. `access` limits what peers may do. A region without
    // `write` is registered read-only, so a local pull cannot write to the region either. invalid_argument: 0 bytes in
    // all, or a null segment.
    [[nodiscard]] static Result<Region> expose(std::span<const na::Segment> segments, na::Access access);
    [[nodiscard]] static Result<Region> expose(Bytes bytes, na::Access access);
    // Makes a region of read-only memory: peers may pull from the region, and this side may push from it.
    [[nodiscard]] static Result<Region> expose(ConstBytes bytes);
    // Allocates memory that is page-aligned, zeroed, not inherited by forked children, and freed with the last handle.
    // `preferred`: if not null, the transport that may provide the memory (Transport::allocate_memory). out_of_memory;
    // invalid_argument: 0 bytes.
    [[nodiscard]] static Result<Region> allocate(std::size_t bytes, na::Access access,
                                                 const std::shared_ptr<na::Transport>& preferred = nullptr);

    // The next three functions make regions of far memory (far_memory.hpp), which the processor does not address. The
    // bytes are moved through staging buffers; a far region cannot be viewed.
    //
    // Makes a region of the bytes [offset, offset + bytes) of a file. The region duplicates the descriptor, so `fd` may
    // be closed. Peers read the current contents of the file. A transfer that reads beyond the end of the file fails
    // with `stale`; a failing disk makes it fail with `io` or `no_space`. The bytes that a transfer wrote are in the
    // file when the transfer has ended, but not necessarily on the disk. The file is not locked. invalid_argument: 0
    // bytes; or the file is neither a regular file nor a block device; or the file is open with O_APPEND or O_DIRECT;
    // or `access` is read-only and the range ends beyond the end of the file. permission: `fd` is not open for
    // `access`. overloaded: no descriptor or thread is left.
    [[nodiscard]] static Result<Region> of_file(int fd, std::uint64_t offset, std::uint64_t bytes, na::Access access);
    // Makes a region of all of the far memory. invalid_argument: null, or 0 bytes.
    [[nodiscard]] static Result<Region> of_far(std::shared_ptr<FarMemory> memory, na::Access access);
    // Concatenates regions, at least one of which is far. Parts of host memory are moved through staging buffers, too.
    // Keeps the parts alive. invalid_argument: there is no part, a part is empty, or no part is far (then use expose()
    // with the segments). permission: `access` exceeds the access of a part.
    [[nodiscard]] static Result<Region> join(std::span<const Region> parts, na::Access access);

    // Returns a handle to the bytes [offset, offset + bytes) of this region. Requires: these bytes lie inside the
    // region.
    [[nodiscard]] Region slice(std::uint64_t offset, std::uint64_t bytes) const;
    // The whole region, if this is a slice of it.
    [[nodiscard]] Region whole() const noexcept;
    // Makes a new region that consists of blocks of this region, in the order of the list. The new region can be lent
    // and moved like any other, keeps this region alive, and is registered separately. invalid_argument: blocks do not
    // lie inside this region, or overlap although `access` includes writing. permission: `access` exceeds the access of
    // this region. too_large: more than descriptor_segments_max pieces are not adjacent.
    [[nodiscard]] Result<Region> select(const Blocks& blocks, na::Access access) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }  // of this slice in the region
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept;
    // Whether the whole region contains far memory.
    [[nodiscard]] bool is_far() const noexcept;
    // Whether the memory is in quarantine: the call that lent some of these bytes has ended, but a peer may still
    // access them, because the peer did not end its access and the transport could not revoke it. During the
    // quarantine, do not read, write, lend or free the memory. The quarantine ends when the connection to the peer
    // ends, which also ends the access of a third party to which the peer forwarded the memory. Device memory stays in
    // quarantine until this process ends, if the peer has a handle of the memory (decision 94). Far memory that a call
    // lent is in quarantine until its last copy has ended, for instance while a disk hangs. A joined region reports its
    // quarantine; the parts of a joined region do not.
    [[nodiscard]] bool quarantined() const noexcept;
    // Begins a quarantine that never ends, also of the parts of a joined region, and keeps the memory registered.
    void quarantine_for_good() const noexcept;
    // The segments of the whole region. The address of a far segment is null. far_segments() has an entry for each
    // segment if any segment is far; otherwise far_segments() is empty.
    [[nodiscard]] std::span<const na::Segment> segments() const noexcept;
    [[nodiscard]] std::span<const FarSegment> far_segments() const noexcept;
    [[nodiscard]] std::span<const std::uint64_t> segment_ends() const noexcept;  // cumulative sums of their sizes
    // The bytes as one span; empty if they are in several segments, or the region is far.
    [[nodiscard]] Bytes contiguous() const noexcept;
    // copy_out and copy_in copy between this slice and plain memory, across segments. Requires: the range is inside the
    // slice; the slice is not far; for copy_in, the region is writable.
    void copy_out(std::uint64_t offset, Bytes to) const noexcept;
    void copy_in(std::uint64_t offset, ConstBytes from) const noexcept;
    // Like copy_out and copy_in, but for any region, far or not. load and store may block, so do not call them on a
    // thread that drives a context. If a copy fails, the bytes before the failure have been copied.
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) const noexcept;
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) const noexcept;

    // Returns the region's registration with a transport. The first call makes the registration (takes a lock and may
    // make a system call); later calls take no lock. The region keeps the transport alive. Errors:
    // Transport::register_memory; unsupported: the region is far, and the transport is not the lender of far memory
    // (far_lender.hpp).
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
