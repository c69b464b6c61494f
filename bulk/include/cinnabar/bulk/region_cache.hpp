// SPDX-License-Identifier: BSD-3-Clause
// RegionCache: regions of memory that the program exposes again and again. Regions are found by address, so that the
// memory is registered with a transport only once (each registration with an RDMA device pins the pages of the memory):
//
//     RegionCache cache;
//     Region region = cache.expose(buffer, na::Access::read).value();     // each time
//     cache.forget(buffer);                                               // before the buffer is freed
//
// The program must call forget() before it frees the memory. Otherwise, if other memory is later mapped at the same
// address, the cached region still refers to the old pages. The cache cannot detect this by itself: hooks of the
// allocator miss calls of munmap by other code, and userfaultfd requires privileges and slows page faults down.
//
// Thread-safe. No lock is held while a registration is removed.
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

    // Returns a region of this memory with exactly this access: a slice of a region in the cache if the memory lies
    // inside such a region, otherwise a new region. A new region is added to the cache unless it is larger than
    // bytes_max. Adding a region drops the cached regions that overlap it, and the least recently used regions until
    // there is room. Errors: as Region::expose.
    [[nodiscard]] Result<Region> expose(Bytes memory, na::Access access);
    // Drops the regions that overlap this memory. Handles that expose() has returned stay valid, so the memory must
    // live until the last of these handles is gone (Region::expose).
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
