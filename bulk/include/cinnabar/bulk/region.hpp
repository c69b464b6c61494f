// SPDX-License-Identifier: BSD-3-Clause
// Memory that can be moved in bulk: one or many segments, seen as one range of bytes and registered once per transport,
// at the first use there. A Region is a counted handle: copying it or taking a slice registers nothing. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cinnabar::bulk {

class RegionBody;

// A window of a region; keeps the region alive. The memory is the caller's and must stay until the last handle is gone.
class CINNABAR_API Region {
  public:
    Region() = default;

    // Lends the caller's memory to transfers. `access` is what peers may do at most, and a region without `write` is
    // registered read-only, so it cannot be the target of a local pull either. invalid_argument: no bytes at all, or a
    // null segment. Nothing is registered yet.
    [[nodiscard]] static Result<Region> expose(std::span<const na::Segment> segments, na::Access access);
    [[nodiscard]] static Result<Region> expose(Bytes bytes, na::Access access);
    // Read-only memory: peers may read it, and it may be pushed from.
    [[nodiscard]] static Result<Region> expose(ConstBytes bytes);
    // Memory of the library's own (page-aligned, zeroed, kept out of forked children), freed with the last handle. A
    // transport that is named may provide it (Transport::allocate_memory). out_of_memory, invalid_argument: no bytes.
    [[nodiscard]] static Result<Region> allocate(std::size_t bytes, na::Access access,
                                                 const std::shared_ptr<na::Transport>& preferred = nullptr);

    // The bytes [offset, offset + bytes) of this window. Requires: inside.
    [[nodiscard]] Region slice(std::uint64_t offset, std::uint64_t bytes) const;

    [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
    explicit operator bool() const noexcept { return body_ != nullptr; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }  // of the window in the registration
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept;
    [[nodiscard]] std::span<const na::Segment> segments() const noexcept;        // of the whole region
    [[nodiscard]] std::span<const std::uint64_t> segment_ends() const noexcept;  // running sums of their sizes
    // The window as one span; empty when it touches more than one segment.
    [[nodiscard]] Bytes contiguous() const noexcept;
    // Copies between the window and plain memory, across segments. Requires: inside; copy_in: writable memory.
    void copy_out(std::uint64_t offset, Bytes to) const noexcept;
    void copy_in(std::uint64_t offset, ConstBytes from) const noexcept;

    // The registration on a transport; made at the first call (a lock and perhaps a system call), found without a lock
    // afterwards. The region keeps the transport alive. Errors: Transport::register_memory.
    [[nodiscard]] Result<na::Memory*> memory_on(const std::shared_ptr<na::Transport>& transport) const;

  private:
    Region(std::shared_ptr<RegionBody> body, std::uint64_t offset, std::uint64_t bytes);
    std::shared_ptr<RegionBody> body_;
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace cinnabar::bulk
