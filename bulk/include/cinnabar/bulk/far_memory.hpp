// SPDX-License-Identifier: BSD-3-Clause
// FarMemory: memory that the processor does not address, such as a file or the memory of a device. Its bytes are copied
// to and from staging buffers, in chunks, several at once, on threads that may block; transports move the contents of
// the buffers. A Region can consist of far memory (Region::of_far, of_file, join). Thread-safe.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar {
class WorkThreads;
}

namespace cinnabar::bulk {

enum class MemoryKind : std::uint8_t {
    host,
    file,
    cuda,        // of NVIDIA devices
    rocm,        // of AMD devices
    level_zero,  // of Intel devices
};
inline constexpr std::size_t memory_kind_count = 5;

// The outcome of a copy.
struct FarEnd {
    Errc code = Errc::ok;
    int os_errno = 0;  // 0: no system call failed
};

// A handle by which another process on this host accesses memory of a device without a copy to the host. It gives
// access to the whole allocation, so it is given only to processes of the same user.
struct IpcHandle {
    static constexpr std::size_t driver_bytes = 64;
    MemoryKind kind = MemoryKind::cuda;
    std::array<std::byte, driver_bytes> driver{};  // the driver's handle of the allocation
    std::uint64_t offset = 0;                      // offset of the memory within the allocation
};

// Memory of another process opened by a handle, from FarMemory::open_ipc() to close(). The owner must not free it in
// between.
class IpcMemory {
  public:
    virtual ~IpcMemory() = default;
    IpcMemory(const IpcMemory&) = delete;
    IpcMemory& operator=(const IpcMemory&) = delete;
    [[nodiscard]] virtual FarEnd close() noexcept = 0;  // call it once

  protected:
    IpcMemory() = default;
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
    // Prepares a staging buffer for faster copies for as long as the returned object lives; that object may outlive
    // this one. Null: there is nothing to do, or pinning failed and copies are slower. Called once per buffer and kind,
    // on threads().
    [[nodiscard]] virtual std::shared_ptr<void> pin(Bytes) noexcept { return nullptr; }

    // The following functions let the device copy between memory of two processes of this host. They run on threads(),
    // like load(). unsupported: this memory, or the other process, cannot do this; the bytes are then copied through
    // staging buffers.
    //
    // Makes a handle of the memory that begins at `offset`.
    [[nodiscard]] virtual FarEnd ipc_handle(std::uint64_t offset, IpcHandle& out) noexcept;
    // Opens memory of another process, for copies to and from this memory. Null, with the error in `end`: unsupported;
    // too_large: the allocation is smaller than the handle's offset plus `bytes`.
    [[nodiscard]] virtual std::unique_ptr<IpcMemory> open_ipc(const IpcHandle& handle, std::uint64_t bytes,
                                                              FarEnd& end) noexcept;
    // Copy `bytes` at `offset` of this memory to or from offset `at` of memory that open_ipc() of this kind returned.
    // The rules of load() apply.
    [[nodiscard]] virtual FarEnd load_into(std::uint64_t offset, IpcMemory& to, std::uint64_t at,
                                           std::uint64_t bytes) noexcept;
    [[nodiscard]] virtual FarEnd store_from(std::uint64_t offset, const IpcMemory& from, std::uint64_t at,
                                            std::uint64_t bytes) noexcept;

  protected:
    FarMemory() = default;
};

// What a segment of a region refers to: `memory` from `offset` on; null: host memory.
struct FarSegment {
    std::shared_ptr<FarMemory> memory;
    std::uint64_t offset = 0;
};

}  // namespace cinnabar::bulk
