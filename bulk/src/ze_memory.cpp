// SPDX-License-Identifier: BSD-3-Clause
// Memory of Level Zero devices, which are Intel's. A copy takes one of the region's command lists, which are
// synchronous: appending a command returns after the command has been executed.
#include "device_kinds.hpp"
#include "idle_pool.hpp"
#include "ze_driver.hpp"

#include <cinnabar/base/log.hpp>

#include <utility>
#include <vector>

namespace cinnabar::bulk {
namespace {

class ZeMemory final : public FarMemory {
  public:
    ZeMemory(const ze::Driver& driver, ze::Context context, ze::Device device, std::uint32_t queue_group,
             std::byte* address, std::uint64_t bytes, WorkThreads& threads) noexcept
        : driver_(driver), context_(context), device_(device), address_(address), bytes_(bytes), threads_(threads) {
        queue_.ordinal = queue_group;
    }
    ~ZeMemory() override {
        ze::CommandList list = nullptr;
        while (lists_.take(list)) (void)driver_.list_destroy(list);
    }

    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::level_zero; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] WorkThreads& threads() const noexcept override { return threads_; }
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        return copy("from", to.data(), address_ + offset, to.size());
    }
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        return copy("to", address_ + offset, from.data(), from.size());
    }

  private:
    [[nodiscard]] FarEnd copy(const char* way, void* to, const void* from, std::size_t bytes) noexcept {
        ze::CommandList list = nullptr;
        ze::Code code = ze::success;
        if (!lists_.take(list)) code = driver_.list_create(context_, device_, &queue_, &list);
        if (code == ze::success) {
            code = driver_.append_copy(list, to, from, bytes, nullptr, 0, nullptr);
            // A list that failed is not reused.
            if (code != ze::success || !lists_.keep(list)) (void)driver_.list_destroy(list);
        }
        if (code == ze::success) return {};
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "bulk", "a copy %s the memory of a device failed: Level Zero: %#x", way,
                    static_cast<unsigned>(code));
        const bool memory_is_out = code == ze::code_out_of_host_memory || code == ze::code_out_of_device_memory;
        return {memory_is_out ? Errc::out_of_memory : Errc::io, 0};
    }

    const ze::Driver& driver_;
    const ze::Context context_;
    const ze::Device device_;
    ze::QueueDescription queue_;
    std::byte* const address_;
    const std::uint64_t bytes_;
    WorkThreads& threads_;
    IdlePool<ze::CommandList> lists_;
};

struct ZeFound {
    ze::Context context = nullptr;
    ze::Device device = nullptr;
};

Result<ZeFound> look_up_ze(const ze::Driver& driver, void* address, std::uint64_t bytes) {
    ZeFound found;
    for (const ze::Context context : driver.contexts) {
        ze::AllocationProperties properties;
        ze::Device device = nullptr;
        const ze::Code code = driver.allocation(context, address, &properties, &device);
        if (code == ze::success && properties.type == ze::memory_type_device && device) found = {context, device};
    }
    if (!found.device) return Error(Errc::invalid_argument, "the address is not device memory");
    void* start = nullptr;
    std::size_t size = 0;
    if (const ze::Code code = driver.address_range(found.context, address, &start, &size); code != ze::success)
        return Error(Errc::io, "the driver does not describe the address", ze::text_of(code));
    const auto skipped = static_cast<std::uint64_t>(static_cast<std::byte*>(address) - static_cast<std::byte*>(start));
    if (skipped > size || bytes > size - skipped)
        return Error(Errc::invalid_argument, "the allocation at that address has fewer bytes");
    return found;
}

// The first group of queues that can copy.
Result<std::uint32_t> queue_group_of(const ze::Driver& driver, ze::Device device) {
    std::uint32_t count = 0;
    ze::Code code = driver.queue_groups(device, &count, nullptr);
    std::vector<ze::QueueGroup> groups(count);
    if (code == ze::success && count > 0) code = driver.queue_groups(device, &count, groups.data());
    for (std::uint32_t i = 0; code == ze::success && i < count && i < groups.size(); ++i) {
        if ((groups[i].flags & ze::group_copies) != 0) return i;
    }
    return Error(Errc::io, "the device has no queue for copies", ze::text_of(code));
}

}  // namespace

Result<std::shared_ptr<FarMemory>> ze_memory(void* address, std::uint64_t bytes) {
    CINNABAR_TRY(const ze::Driver* const driver, ze::driver());
    CINNABAR_TRY(const ZeFound found, look_up_ze(*driver, address, bytes));
    CINNABAR_TRY(const std::uint32_t group, queue_group_of(*driver, found.device));
    CINNABAR_TRY(WorkThreads* const threads, device_threads());
    return std::shared_ptr<FarMemory>(std::make_shared<ZeMemory>(*driver, found.context, found.device, group,
                                                                 static_cast<std::byte*>(address), bytes, *threads));
}

}  // namespace cinnabar::bulk
