// SPDX-License-Identifier: BSD-3-Clause
// Regions that are dropped are moved to another map as they are, which needs no memory, and are freed without the lock.
#include <cinnabar/bulk/region_cache.hpp>

#include <initializer_list>
#include <iterator>

namespace cinnabar::bulk {
namespace {

std::uintptr_t address_of(ConstBytes memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory.data()); }

}  // namespace

RegionCache::Regions::iterator RegionCache::first_that_ends_after(na::Access access, std::uintptr_t begin) noexcept {
    auto at = regions_.upper_bound(Key(access, begin));
    if (at == regions_.begin()) return at;
    const auto before = std::prev(at);
    const bool covers =
        before->first.first == access && begin - before->first.second < before->second.region.bytes();
    return covers ? before : at;
}

RegionCache::Regions::iterator RegionCache::drop(Regions::iterator at, std::list<Key>& keys, Regions& gone) noexcept {
    bytes_ -= at->second.region.bytes();
    keys.splice(keys.end(), used_, at->second.used);
    const auto next = std::next(at);
    gone.insert(regions_.extract(at));
    return next;
}

RegionCache::Regions::iterator RegionCache::drop_overlapping(na::Access access, std::uintptr_t begin,
                                                             std::uint64_t bytes, std::list<Key>& keys,
                                                             Regions& gone) noexcept {
    auto at = first_that_ends_after(access, begin);
    while (at != regions_.end() && at->first.first == access &&
           (at->first.second < begin || at->first.second - begin < bytes))
        at = drop(at, keys, gone);
    return at;
}

Result<Region> RegionCache::expose(Bytes memory, na::Access access) {
    const std::uintptr_t begin = address_of(memory);
    // Freed after the lock, in the reverse order.
    std::list<Key> keys;
    Regions gone;
    const std::lock_guard lock(mutex_);
    if (const auto at = first_that_ends_after(access, begin);
        at != regions_.end() && at->first.first == access && at->first.second <= begin && !memory.empty()) {
        const Region& kept = at->second.region;
        const std::uint64_t offset = begin - at->first.second;
        if (memory.size() <= kept.bytes() - offset) {
            ++hits_;
            used_.splice(used_.end(), used_, at->second.used);
            return kept.slice(offset, memory.size());
        }
    }
    CINNABAR_TRY(Region made, Region::expose(memory, access));
    ++misses_;
    if (made.bytes() > options_.bytes_max || options_.regions_max == 0) return made;
    keys.emplace_back(access, begin);  // all that needs memory comes first
    gone.emplace(keys.back(), Kept{made, keys.begin()});
    auto node = gone.extract(gone.begin());
    std::list<Key> dropped;
    (void)drop_overlapping(access, begin, made.bytes(), dropped, gone);
    while (regions_.size() >= options_.regions_max || bytes_ + made.bytes() > options_.bytes_max)
        (void)drop(regions_.find(used_.front()), dropped, gone);
    bytes_ += made.bytes();
    used_.splice(used_.end(), keys, keys.begin());
    regions_.insert(std::move(node));
    return made;
}

void RegionCache::forget(ConstBytes memory) noexcept {
    if (memory.empty()) return;
    std::list<Key> keys;
    Regions gone;
    const std::lock_guard lock(mutex_);
    for (const na::Access access : {na::Access::read, na::Access::write, na::Access::read_write})
        (void)drop_overlapping(access, address_of(memory), memory.size(), keys, gone);
}

void RegionCache::clear() noexcept {
    Regions gone;
    std::list<Key> keys;
    const std::lock_guard lock(mutex_);
    gone.swap(regions_);
    keys.swap(used_);
    bytes_ = 0;
}

RegionCache::Counts RegionCache::counts() const noexcept {
    const std::lock_guard lock(mutex_);
    return {regions_.size(), bytes_, hits_, misses_};
}

}  // namespace cinnabar::bulk
