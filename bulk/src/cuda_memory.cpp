// SPDX-License-Identifier: BSD-3-Clause
// Memory of an NVIDIA device. A copy takes one of the region's streams, copies, and waits for the stream. Four threads,
// shared by all regions, keep up to four copies in flight.
#include "cuda_context.hpp"
#include "cuda_ipc.hpp"
#include "lasting_threads.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/bulk/device_memory.hpp>

#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace cinnabar::bulk {
namespace {

using cuda::Attribute;
using cuda::Code;
using cuda::Current;
using cuda::Driver;
using cuda::Primary;

// The number of copies in flight.
constinit LastingThreads device_threads(4);

// Host memory that is pinned for the devices.
class Pinned {
  public:
    Pinned(std::shared_ptr<const Primary> primary, Bytes memory) noexcept
        : primary_(std::move(primary)), memory_(memory) {
        const Current current(primary_->driver, primary_->context);
        code_ = current.code();
        if (code_ == cuda::success)
            code_ = primary_->driver.host_register(memory.data(), memory.size(), cuda::host_register_portable);
    }
    ~Pinned() {
        if (code_ != cuda::success) return;
        const Current current(primary_->driver, primary_->context);
        (void)primary_->driver.host_unregister(memory_.data());
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    [[nodiscard]] Code code() const noexcept { return code_; }

  private:
    const std::shared_ptr<const Primary> primary_;
    const Bytes memory_;
    Code code_ = cuda::success;
};

class CudaMemory final : public FarMemory {
  public:
    // `context`: the context in which the memory was allocated.
    CudaMemory(std::shared_ptr<const Primary> primary, cuda::Context context, cuda::DeviceAddress address,
               std::uint64_t bytes, WorkThreads& threads) noexcept
        : primary_(std::move(primary)), context_(context), address_(address), bytes_(bytes), threads_(threads) {}
    ~CudaMemory() override {
        if (streams_.empty()) return;
        const Current current(driver(), context_);
        for (const cuda::Stream stream : streams_) (void)driver().stream_destroy(stream);
    }

    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::cuda; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] WorkThreads& threads() const noexcept override { return threads_; }
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        return on_stream("from", [&](cuda::Stream stream) {
            return driver().copy_to_host(to.data(), address_ + offset, to.size(), stream);
        });
    }
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        return on_stream("to", [&](cuda::Stream stream) {
            return driver().copy_to_device(address_ + offset, from.data(), from.size(), stream);
        });
    }
    // If the driver cannot pin the memory, it copies through memory of its own, which is slower.
    [[nodiscard]] std::shared_ptr<void> pin(Bytes memory) noexcept override {
        try {
            auto pinned = std::make_shared<Pinned>(primary_, memory);
            if (pinned->code() == cuda::success) return pinned;
            log(LogLevel::info, "bulk", "a staging buffer is not pinned: %s", driver().name_of(pinned->code()));
        } catch (const std::bad_alloc&) {
        }
        return nullptr;
    }
    [[nodiscard]] FarEnd ipc_handle(std::uint64_t offset, IpcHandle& out) noexcept override {
        return cuda_ipc_handle(driver(), context_, address_ + offset, out);
    }
    [[nodiscard]] std::unique_ptr<IpcMemory> open_ipc(const IpcHandle& handle, std::uint64_t bytes,
                                                      FarEnd& end) noexcept override {
        return CudaIpc::open(driver(), context_, handle, bytes, end);
    }
    [[nodiscard]] FarEnd load_into(std::uint64_t offset, IpcMemory& to, std::uint64_t at,
                                   std::uint64_t bytes) noexcept override {
        return on_stream("from", [&](cuda::Stream stream) {
            const cuda::DeviceAddress there = static_cast<CudaIpc&>(to).address() + at;
            return driver().copy_on_device(there, address_ + offset, bytes, stream);
        });
    }
    [[nodiscard]] FarEnd store_from(std::uint64_t offset, const IpcMemory& from, std::uint64_t at,
                                    std::uint64_t bytes) noexcept override {
        return on_stream("to", [&](cuda::Stream stream) {
            const cuda::DeviceAddress there = static_cast<const CudaIpc&>(from).address() + at;
            return driver().copy_on_device(address_ + offset, there, bytes, stream);
        });
    }

  private:
    [[nodiscard]] const Driver& driver() const noexcept { return primary_->driver; }

    template <typename F>
    [[nodiscard]] FarEnd on_stream(const char* way, F&& copy) noexcept {
        const Current current(driver(), context_);
        Code code = current.code();
        cuda::Stream stream = nullptr;
        if (code == cuda::success) code = take(stream);
        if (stream) {
            code = copy(stream);
            // Waits after a failure too: no copy may be in progress when the buffer is reused.
            const Code waited = driver().stream_synchronize(stream);
            if (code == cuda::success) code = waited;
            give(stream, code == cuda::success);
        }
        if (code == cuda::success) return {};
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "bulk", "a copy %s the memory of a device failed: %s", way,
                    driver().name_of(code));
        return {code == cuda::code_out_of_memory ? Errc::out_of_memory : Errc::io, 0};
    }
    [[nodiscard]] Code take(cuda::Stream& stream) noexcept {
        {
            const std::lock_guard lock(mutex_);
            if (!streams_.empty()) {
                stream = streams_.back();
                streams_.pop_back();
                return cuda::success;
            }
        }
        const Code code = driver().stream_create(&stream, cuda::stream_non_blocking);
        if (code != cuda::success) stream = nullptr;
        return code;
    }
    // A stream that failed is not reused.
    void give(cuda::Stream stream, bool good) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            if (good) return streams_.push_back(stream);
        } catch (const std::bad_alloc&) {
        }
        (void)driver().stream_destroy(stream);
    }

    const std::shared_ptr<const Primary> primary_;
    const cuda::Context context_;
    const cuda::DeviceAddress address_;
    const std::uint64_t bytes_;
    WorkThreads& threads_;
    std::mutex mutex_;
    std::vector<cuda::Stream> streams_;  // idle ones
};

// What the driver knows about an address.
struct Found {
    cuda::Context context = nullptr;  // null: the memory belongs to no single context
    int device = 0;
};

Result<Found> look_up(const Driver& driver, cuda::DeviceAddress address, std::uint64_t bytes) {
    Found found;
    unsigned type = 0;
    cuda::DeviceAddress start = 0;
    std::size_t size = 0;
    const auto ask = [&](Attribute attribute, auto& value) {
        return driver.pointer_attribute(&value, static_cast<int>(attribute), address);
    };
    // For an unknown address the driver returns "invalid value".
    if (ask(Attribute::memory_type, type) != cuda::success || type != cuda::memory_type_device)
        return Error(Errc::invalid_argument, "the address is not device memory");
    Code code = ask(Attribute::device_ordinal, found.device);
    if (code == cuda::success) code = ask(Attribute::range_start, start);
    if (code == cuda::success) code = ask(Attribute::range_bytes, size);
    if (code != cuda::success)
        return Error(Errc::io, "the CUDA driver does not describe the address", driver.name_of(code));
    if (address - start > size || bytes > size - (address - start))
        return Error(Errc::invalid_argument, "the allocation at that address has fewer bytes");
    if (ask(Attribute::context, found.context) != cuda::success) found.context = nullptr;
    return found;
}

Result<std::shared_ptr<FarMemory>> cuda_memory(void* address, std::uint64_t bytes) {
    if (!address || bytes == 0) return Error(Errc::invalid_argument, "a region needs at least one byte");
    CINNABAR_TRY(const Driver* const driver, cuda::driver());
    const auto at = static_cast<cuda::DeviceAddress>(reinterpret_cast<std::uintptr_t>(address));
    CINNABAR_TRY(const Found found, look_up(*driver, at, bytes));
    WorkThreads* const threads = device_threads.get();
    if (!threads) return Error(Errc::overloaded, "the system can start no threads for copies");
    auto primary = std::make_shared<const Primary>(*driver, found.device);
    if (primary->code() != cuda::success)
        return Error(Errc::io, "the CUDA driver does not give the device's context", driver->name_of(primary->code()));
    const cuda::Context context = found.context ? found.context : primary->context;
    return std::shared_ptr<FarMemory>(std::make_shared<CudaMemory>(std::move(primary), context, at, bytes, *threads));
}

}  // namespace

Result<std::shared_ptr<FarMemory>> device_memory(MemoryKind kind, void* address, std::uint64_t bytes) {
    if (kind != MemoryKind::cuda) return Error(Errc::unsupported, "not the memory of a known device");
    return cuda_memory(address, bytes);
}

}  // namespace cinnabar::bulk
