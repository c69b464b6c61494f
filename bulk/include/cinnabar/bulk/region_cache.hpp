// SPDX-License-Identifier: BSD-3-Clause
// RegionCache: regions of memory that the program exposes again and again, kept by address, so that the memory is
// registered with a transport once (RDMA devices pin its pages at each registration):
//
//     RegionCache cache;
//     Region region = cache.expose(buffer, na::Access::read).value();     // each time
//     cache.forget(buffer);                                               // before the buffer is freed
//
// Memory is in the cache only if the program puts it there, and the program says when it goes: a region of memory that
// was freed and mapped again would name the old pages, and nothing in user space reports that for all memory. Hooks of
// the allocator miss munmap by others, and a userfaultfd takes privileges and slows page faults down.
//
// Thread-safe. Registrations end without a lock held.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace cinnabar::bulk {

struct RegionCacheOptions {
    std::size_t regions_max = 1024;
    std::uint64_t bytes_max = std::uint64_t{4} << 30;  // of all regions; pinned, if a device has registered them
};

class CINNABAR_API RegionCache {
  public:
    explicit RegionCache(const RegionCacheOptions& options = {}) noexcept : options_(options) {}
    RegionCache(const RegionCache&) = delete;
    RegionCache& operator=(const RegionCache&) = delete;

    // A region of this memory with exactly this access: a slice of a kept one if the memory lies inside, otherwise a
    // new one. The cache keeps a new one, unless it has more than bytes_max: those that it overlaps are dropped, and
    // then the least recently used ones until there is room. Errors: as Region::expose.
    [[nodiscard]] Result<Region> expose(Bytes memory, na::Access access);
    // Drops the regions that overlap this memory. Those that were handed out stay valid, so the memory must live until
    // the last handle is gone, as ever; see Region::expose.
    void forget(ConstBytes memory) noexcept;
    void clear() noexcept;

    struct Counts {
        std::size_t regions = 0;
        std::uint64_t bytes = 0;
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
    };
    [[nodiscard]] Counts counts() const noexcept;

  private:
    // Regions of one access never overlap.
    using Key = std::pair<na::Access, std::uintptr_t>;
    struct Kept {
        Region region;
        std::list<Key>::iterator used;
    };
    using Regions = std::map<Key, Kept>;

    // These require the lock.
    [[nodiscard]] Regions::iterator first_that_ends_after(na::Access access, std::uintptr_t begin) noexcept;
    // Moves the region to `gone`, to be freed without the lock.
    Regions::iterator drop(Regions::iterator at, std::list<Key>& keys, Regions& gone) noexcept;
    Regions::iterator drop_overlapping(na::Access access, std::uintptr_t begin, std::uint64_t bytes,
                                       std::list<Key>& keys, Regions& gone) noexcept;

    const RegionCacheOptions options_;
    mutable std::mutex mutex_;
    Regions regions_;
    std::list<Key> used_;  // the most recently used one is last
    std::uint64_t bytes_ = 0;
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
};

}  // namespace cinnabar::bulk
