// SPDX-License-Identifier: BSD-3-Clause
// FarMemory: memory that the processor does not address, such as a file or the memory of a device. Its bytes are copied
// to and from staging buffers, in chunks, several at once, on threads that may block; the transport moves what is in
// the buffers. A Region holds far memory like any other (Region::of_far, of_file, join). Thread-safe.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar {
class WorkThreads;
}

namespace cinnabar::bulk {

enum class MemoryKind : std::uint8_t { host, file, cuda };
inline constexpr std::size_t memory_kind_count = 3;

// How a copy ended.
struct FarEnd {
    Errc code = Errc::ok;
    int os_errno = 0;  // 0: no system call failed
};

class CINNABAR_API FarMemory {
  public:
    virtual ~FarMemory() = default;
    FarMemory(const FarMemory&) = delete;
    FarMemory& operator=(const FarMemory&) = delete;

    [[nodiscard]] virtual MemoryKind kind() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
    // Copies [offset, offset + size) to or from host memory, whole: ok, or what it failed with. Run on threads(),
    // several at once on different ranges; may block there, and must end. Requires: the range lies inside.
    [[nodiscard]] virtual FarEnd load(std::uint64_t offset, Bytes to) noexcept = 0;
    [[nodiscard]] virtual FarEnd store(std::uint64_t offset, ConstBytes from) noexcept = 0;
    // Where the copies run; they live until the process ends.
    [[nodiscard]] virtual WorkThreads& threads() const noexcept = 0;
    // Makes a staging buffer fast to copy from and to, for as long as what is returned lives, which may outlive this
    // object; null: nothing to do, or failed, which costs time only. Once for each buffer and kind, on threads().
    [[nodiscard]] virtual std::shared_ptr<void> pin(Bytes) noexcept { return nullptr; }

  protected:
    FarMemory() = default;
};

// A segment of a region that is far memory, from `offset` on; null: host memory.
struct FarSegment {
    std::shared_ptr<FarMemory> memory;
    std::uint64_t offset = 0;
};

}  // namespace cinnabar::bulk
