// SPDX-License-Identifier: BSD-3-Clause
// Memory of an NVIDIA or AMD device. A copy takes one of the region's streams, copies, and waits for the stream.
#include "device_kinds.hpp"
#include "gpu_context.hpp"
#include "gpu_ipc.hpp"
#include "idle_pool.hpp"

#include <cinnabar/base/log.hpp>

#include <new>
#include <utility>

namespace cinnabar::bulk {
namespace {

using gpu::Attribute;
using gpu::Code;
using gpu::Current;
using gpu::Driver;
using gpu::Primary;

// Host memory pinned for the devices.
class Pinned {
  public:
    Pinned(std::shared_ptr<const Primary> primary, Bytes memory) noexcept
        : primary_(std::move(primary)), memory_(memory) {
        const Current current(primary_->driver, primary_->context);
        code_ = current.code();
        if (code_ == gpu::success)
            code_ = primary_->driver.host_register(memory.data(), memory.size(), gpu::host_register_portable);
    }
    ~Pinned() {
        if (code_ != gpu::success) return;
        const Current current(primary_->driver, primary_->context);
        (void)primary_->driver.host_unregister(memory_.data());
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    [[nodiscard]] Code code() const noexcept { return code_; }

  private:
    const std::shared_ptr<const Primary> primary_;
    const Bytes memory_;
    Code code_ = gpu::success;
};

class GpuMemory final : public FarMemory {
  public:
    // `context`: the context in which the memory was allocated.
    GpuMemory(std::shared_ptr<const Primary> primary, gpu::Context context, gpu::DeviceAddress address,
              std::uint64_t bytes, WorkThreads& threads) noexcept
        : primary_(std::move(primary)), context_(context), address_(address), bytes_(bytes), threads_(threads) {}
    ~GpuMemory() override {
        gpu::Stream stream = nullptr;
        if (!streams_.take(stream)) return;
        const Current current(driver(), context_);
        do (void)driver().stream_destroy(stream);
        while (streams_.take(stream));
    }

    [[nodiscard]] MemoryKind kind() const noexcept override { return driver().kind; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] WorkThreads& threads() const noexcept override { return threads_; }
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        return on_stream("from", [&](gpu::Stream stream) {
            return driver().copy_to_host(to.data(), address_ + offset, to.size(), stream);
        });
    }
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        return on_stream("to", [&](gpu::Stream stream) {
            return driver().copy_to_device(address_ + offset, from.data(), from.size(), stream);
        });
    }
    // If the driver cannot pin the memory, it copies through memory of its own, which is slower.
    [[nodiscard]] std::shared_ptr<void> pin(Bytes memory) noexcept override {
        try {
            auto pinned = std::make_shared<Pinned>(primary_, memory);
            if (pinned->code() == gpu::success) return pinned;
            log(LogLevel::info, "bulk", "a staging buffer is not pinned: %s", driver().name_of(pinned->code()));
        } catch (const std::bad_alloc&) {
        }
        return nullptr;
    }
    [[nodiscard]] FarEnd ipc_handle(std::uint64_t offset, IpcHandle& out) noexcept override {
        return gpu_ipc_handle(driver(), context_, address_ + offset, out);
    }
    [[nodiscard]] std::unique_ptr<IpcMemory> open_ipc(const IpcHandle& handle, std::uint64_t bytes,
                                                      FarEnd& end) noexcept override {
        return GpuIpc::open(driver(), context_, handle, bytes, end);
    }
    [[nodiscard]] FarEnd load_into(std::uint64_t offset, IpcMemory& to, std::uint64_t at,
                                   std::uint64_t bytes) noexcept override {
        return on_stream("from", [&](gpu::Stream stream) {
            const gpu::DeviceAddress there = static_cast<GpuIpc&>(to).address() + at;
            return driver().copy_on_device(there, address_ + offset, bytes, stream);
        });
    }
    [[nodiscard]] FarEnd store_from(std::uint64_t offset, const IpcMemory& from, std::uint64_t at,
                                    std::uint64_t bytes) noexcept override {
        return on_stream("to", [&](gpu::Stream stream) {
            const gpu::DeviceAddress there = static_cast<const GpuIpc&>(from).address() + at;
            return driver().copy_on_device(address_ + offset, there, bytes, stream);
        });
    }

  private:
    [[nodiscard]] const Driver& driver() const noexcept { return primary_->driver; }

    template <typename F>
    [[nodiscard]] FarEnd on_stream(const char* way, F&& copy) noexcept {
        const Current current(driver(), context_);
        Code code = current.code();
        gpu::Stream stream = nullptr;
        if (code == gpu::success) code = take(stream);
        if (stream) {
            code = copy(stream);
            // Waits after a failure too: no copy may be in progress when the buffer is reused.
            const Code waited = driver().stream_synchronize(stream);
            if (code == gpu::success) code = waited;
            give(stream, code == gpu::success);
        }
        if (code == gpu::success) return {};
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "bulk", "a copy %s the memory of a device failed: %s", way,
                    driver().name_of(code));
        return {code == gpu::code_out_of_memory ? Errc::out_of_memory : Errc::io, 0};
    }
    [[nodiscard]] Code take(gpu::Stream& stream) noexcept {
        if (streams_.take(stream)) return gpu::success;
        const Code code = driver().stream_create(&stream, gpu::stream_non_blocking);
        if (code != gpu::success) stream = nullptr;
        return code;
    }
    // A stream that failed is not reused.
    void give(gpu::Stream stream, bool good) noexcept {
        if (!good || !streams_.keep(stream)) (void)driver().stream_destroy(stream);
    }

    const std::shared_ptr<const Primary> primary_;
    const gpu::Context context_;
    const gpu::DeviceAddress address_;
    const std::uint64_t bytes_;
    WorkThreads& threads_;
    IdlePool<gpu::Stream> streams_;
};

// What the driver knows about an address.
struct Found {
    gpu::Context context = nullptr;  // null: the memory belongs to no single context
    int device = 0;
};

Result<Found> look_up(const Driver& driver, gpu::DeviceAddress address, std::uint64_t bytes) {
    Found found;
    unsigned type = 0;
    gpu::DeviceAddress start = 0;
    std::size_t size = 0;
    const auto ask = [&](Attribute attribute, auto& value) {
        return driver.pointer_attribute(&value, static_cast<int>(attribute), address);
    };
    // For an unknown address the driver returns "invalid value".
    if (ask(Attribute::memory_type, type) != gpu::success || type != driver.memory_type_device)
        return Error(Errc::invalid_argument, "the address is not device memory");
    Code code = ask(Attribute::device_ordinal, found.device);
    if (driver.kind == MemoryKind::rocm) {
        if (code == gpu::success) code = driver.address_range(&start, &size, address);
    } else {
        if (code == gpu::success) code = ask(Attribute::range_start, start);
        if (code == gpu::success) code = ask(Attribute::range_bytes, size);
    }
    if (code != gpu::success) return Error(Errc::io, "the driver does not describe the address", driver.name_of(code));
    if (address - start > size || bytes > size - (address - start))
        return Error(Errc::invalid_argument, "the allocation at that address has fewer bytes");
    if (ask(Attribute::context, found.context) != gpu::success) found.context = nullptr;
    return found;
}

}  // namespace

Result<std::shared_ptr<FarMemory>> gpu_memory(const Driver& driver, void* address, std::uint64_t bytes) {
    const auto at = static_cast<gpu::DeviceAddress>(reinterpret_cast<std::uintptr_t>(address));
    CINNABAR_TRY(const Found found, look_up(driver, at, bytes));
    CINNABAR_TRY(WorkThreads* const threads, device_threads());
    auto primary = std::make_shared<const Primary>(driver, found.device);
    if (primary->code() != gpu::success)
        return Error(Errc::io, "the driver does not give the device's context", driver.name_of(primary->code()));
    const gpu::Context context = found.context ? found.context : primary->context;
    return std::shared_ptr<FarMemory>(std::make_shared<GpuMemory>(std::move(primary), context, at, bytes, *threads));
}

}  // namespace cinnabar::bulk
