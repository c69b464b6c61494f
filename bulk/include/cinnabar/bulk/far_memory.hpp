// SPDX-License-Identifier: BSD-3-Clause
// FarMemory: memory that the processor does not address, such as a file or the memory of a device. Its bytes are copied
// to and from staging buffers, in chunks, several at once, on threads that may block; transports move the contents of
// the buffers. A Region can consist of far memory (Region::of_far, of_file, join). Thread-safe.
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

// The outcome of a copy.
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
    // Copies all of [offset, offset + size) to or from host memory. Returns ok or the error. Runs on threads(), several
    // copies at once on different ranges; it may block but must end. Requires: the range lies inside.
    [[nodiscard]] virtual FarEnd load(std::uint64_t offset, Bytes to) noexcept = 0;
    [[nodiscard]] virtual FarEnd store(std::uint64_t offset, ConstBytes from) noexcept = 0;
    // The threads that run the copies; they live until the process ends.
    [[nodiscard]] virtual WorkThreads& threads() const noexcept = 0;
    // Prepares a staging buffer for faster copies, as long as the returned object lives, which may outlive this one.
    // Null: nothing to do, or it failed, which only costs time. Called once for each buffer and kind, on threads().
    [[nodiscard]] virtual std::shared_ptr<void> pin(Bytes) noexcept { return nullptr; }

  protected:
    FarMemory() = default;
};

// A segment of a region that is far memory, beginning at `offset`; null: host memory.
struct FarSegment {
    std::shared_ptr<FarMemory> memory;
    std::uint64_t offset = 0;
};

}  // namespace cinnabar::bulk
