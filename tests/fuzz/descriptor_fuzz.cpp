// SPDX-License-Identifier: BSD-3-Clause
// Bulk descriptors: all of an accepted descriptor may be read, and it is self-contained after own().
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/remote_region.hpp>

#include <algorithm>
#include <vector>

using namespace cinnabar;

namespace {

// Reads every byte that the region exposes, so that a sanitizer notices an invalid one.
std::uint64_t sum_of(const bulk::RemoteRegion& region) {
    std::uint64_t sum = 0;
    for (const std::byte byte : region.eager()) sum += std::to_integer<std::uint64_t>(byte);
    for (const char* scheme : {"tcp", "self", "sim", "ofi+verbs", ""}) {
        for (const std::byte byte : region.key_for(scheme)) sum += std::to_integer<std::uint64_t>(byte);
    }
    for (std::size_t i = 0; i < region.segment_count(); ++i) sum += region.segment_bytes(i);
    return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::vector<std::byte> borrowed(size);
    const auto input = std::as_bytes(std::span(bytes, size));
    std::copy(input.begin(), input.end(), borrowed.begin());
    ByteReader reader(borrowed);
    bulk::RemoteRegion region;
    if (bulk::RemoteRegion::decode(reader, region) != Errc::ok) {
        CINNABAR_ASSERT(region.empty());
        return 0;
    }
    CINNABAR_ASSERT(reader.ok());
    CINNABAR_ASSERT(region.eager().empty() || region.eager().size() == region.bytes());
    const std::uint64_t sum = sum_of(region);
    bulk::RemoteRegion owned = region;
    CINNABAR_ASSERT(owned.own() == Errc::ok);
    borrowed.assign(borrowed.size(), std::byte{0xdd});
    CINNABAR_ASSERT(sum_of(owned) == sum && owned.bytes() == region.bytes());
    return 0;
}
