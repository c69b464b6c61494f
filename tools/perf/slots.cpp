// SPDX-License-Identifier: BSD-3-Clause
#include "perf/slots.hpp"

#include "perf/pattern.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

namespace cinnabar::tools::perf {
namespace {

// A region of segments with a gap of one segment between them.
Result<bulk::Region> scattered(std::byte* at, std::uint64_t segment_bytes, std::uint32_t segments) {
    std::vector<na::Segment> list;
    for (std::uint32_t i = 0; i < segments; ++i) list.push_back({at + 2 * i * segment_bytes, segment_bytes});
    return bulk::Region::expose(list, na::Access::read_write);
}

// A file that is gone with its last descriptor.
Result<UniqueFd> unnamed_file(const std::string& folder) {
    UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file) return file;
    std::string name = folder + "/cinnabar-perf-XXXXXX";  // not every file system has files without a name
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) {
        const int failed = errno;
        return Error(errc_from_errno(failed), "no file for --memory file: set TMPDIR to another folder", folder,
                     failed);
    }
    (void)::unlink(name.c_str());
    return file;
}

Result<bulk::Region> file_region(std::uint64_t bytes) {
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
    CINNABAR_TRY(const UniqueFd file, unnamed_file(none ? std::string("/tmp") : folder.string()));
    if (const int failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); failed != 0)
        return Error(errc_from_errno(failed), "no room for --memory file: set TMPDIR to another folder",
                     folder.string(), failed);
    return bulk::Region::of_file(file.get(), 0, bytes, na::Access::read_write);
}

Result<void> end_result(const bulk::FarEnd& end) {
    if (end.code == Errc::ok) return {};
    return Error(end.code, "the memory of this side cannot be used", {}, end.os_errno);
}

}  // namespace

void Slots::divide(const bulk::Region& all, std::uint64_t bytes, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) regions_.push_back(all.slice(i * bytes, bytes));
}

Result<Slots> Slots::make(const hl::NodeRef& node, const BulkShape& shape, std::uint32_t count) {
    const bool far = shape.memory == MemoryKind::file || shape.memory == MemoryKind::device;
    Slots slots(shape.segments > 1 || far ? shape.bytes : 0);
    if (shape.memory == MemoryKind::allocated) {
        CINNABAR_TRY(const auto all, node.allocate(shape.bytes * count));
        slots.divide(all, shape.bytes, count);
        return slots;
    }
    if (far) {
        if (shape.memory == MemoryKind::device) {
            CINNABAR_TRY(slots.device_, DeviceBlock::allocate(shape.bytes * count));
        }
        CINNABAR_TRY(const auto all, slots.device_ ? slots.device_->region() : file_region(shape.bytes * count));
        slots.divide(all, shape.bytes, count);
        return slots;
    }
    const std::uint64_t span = shape.segments > 1 ? 2 * shape.bytes : shape.bytes;
    slots.memory_.resize(span * count);
    if (shape.segments == 1) {
        CINNABAR_TRY(const auto all, bulk::Region::expose(Bytes(slots.memory_), na::Access::read_write));
        slots.divide(all, shape.bytes, count);
        return slots;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        CINNABAR_TRY(auto region,
                     scattered(slots.memory_.data() + i * span, shape.bytes / shape.segments, shape.segments));
        slots.regions_.push_back(std::move(region));
    }
    return slots;
}

Result<void> Slots::fill(std::uint64_t seed) {
    for (std::uint32_t i = 0; i < count(); ++i) CINNABAR_TRY_VOID(fill(i, seed));
    return {};
}

Result<void> Slots::fill(std::uint32_t slot, std::uint64_t seed) {
    if (scratch_.empty()) {
        fill_pattern(at(slot).contiguous(), seed + slot);
        return {};
    }
    fill_pattern(scratch_, seed + slot);
    return end_result(at(slot).store(0, scratch_));
}

Result<bool> Slots::has(std::uint32_t slot, std::uint64_t seed) {
    if (scratch_.empty()) return has_pattern(at(slot).contiguous(), seed + slot);
    CINNABAR_TRY_VOID(end_result(at(slot).load(0, scratch_)));
    return has_pattern(scratch_, seed + slot);
}

}  // namespace cinnabar::tools::perf
