// SPDX-License-Identifier: BSD-3-Clause
// FarMemory: memory that the processor does not address, such as a file or the memory of a device. The bytes are copied
// to and from staging buffers on threads that may block, several chunks at once; transports move the contents of the
// buffers. A Region can consist of far memory (Region::of_far, of_file, join). Thread-safe.
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

// A handle by which another process on this host accesses memory of a device without a copy to the host. The handle
// gives access to the whole allocation, so only processes of the same user get it.
struct IpcHandle {
    static constexpr std::size_t driver_bytes = 64;
    MemoryKind kind = MemoryKind::cuda;
    std::array<std::byte, driver_bytes> driver{};  // the driver's handle of the allocation
    std::uint64_t offset = 0;                      // offset of the memory within the allocation
};

// Memory of another process, opened by a handle: usable from FarMemory::open_ipc() to close(). Meanwhile the owner must
// not free the memory.
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
    // load and store copy the range that starts at `offset` and has the size of the host memory. Return ok or the
    // error. Called on threads(), several at once on different ranges; a copy may block but must end. Requires: the
    // range lies inside the far memory.
    [[nodiscard]] virtual FarEnd load(std::uint64_t offset, Bytes to) noexcept = 0;
    [[nodiscard]] virtual FarEnd store(std::uint64_t offset, ConstBytes from) noexcept = 0;
    // The threads that run the copies; they live until the process ends.
    [[nodiscard]] virtual WorkThreads& threads() const noexcept = 0;
    // Prepares a staging buffer for faster copies for as long as the returned object lives. That object may outlive the
    // FarMemory. Null: there is nothing to do, or pinning failed and copies are slower. Called once per buffer and
    // kind, on threads().
    [[nodiscard]] virtual std::shared_ptr<void> pin(Bytes) noexcept { return nullptr; }

    // The following functions let the device copy between memory of two processes of this host. Called on threads(),
    // like load(). unsupported: this memory, or the other process's memory, cannot be copied in this way; staging
    // buffers are used instead.
    //
    // Makes a handle of the memory from `offset` on.
    [[nodiscard]] virtual FarEnd ipc_handle(std::uint64_t offset, IpcHandle& out) noexcept;
    // Opens memory of another process, for copies to and from this memory. Null, with the error in `end`: unsupported;
    // too_large: the allocation is smaller than the handle's offset plus `bytes`.
    [[nodiscard]] virtual std::unique_ptr<IpcMemory> open_ipc(const IpcHandle& handle, std::uint64_t bytes,
                                                              FarEnd& end) noexcept;
    // load_into and store_from copy `bytes` at `offset` of this memory to or from offset `at` of memory that open_ipc()
    // of the same kind has returned. The rules of load() apply.
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
