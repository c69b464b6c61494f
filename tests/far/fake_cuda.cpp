// SPDX-License-Identifier: BSD-3-Clause
// A simulated CUDA driver: a libcuda.so.1 with the entry points that Cinnabar and the checks use. Its device memory is
// host memory (fake_device.hpp), which is shared with other processes by handles, as with the real driver. It checks
// the order of calls: a copy needs a current context and one of its streams, and moves its bytes only when something
// waits for the stream, so a reader that does not wait sees the old bytes. It counts leaks, and can make a given call
// fail.
#include "fake_cuda.hpp"

#include "fake_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;

struct Handle {
    char reserved[64];
};
static_assert(sizeof(FakeHandle) <= sizeof(Handle));

}  // namespace

struct FakeCopy {
    void* to;
    const void* from;
    std::size_t bytes;
    bool on_device = false;
};
struct CUctx_st {
    int retained = 0;
};
struct CUstream_st {
    CUctx_st* context = nullptr;
    std::vector<FakeCopy> waiting;
};

namespace {

struct World {
    std::mutex mutex;
    bool started = false;
    CUctx_st primary;
    std::map<std::uintptr_t, FakeAllocation> allocations;
    struct Opened {
        FakeAllocation memory;
        int times = 0;
    };
    std::map<std::uintptr_t, Opened> opened;      // memory of other processes
    std::map<std::uintptr_t, std::size_t> sizes;  // of both kinds of memory
    std::set<CUstream_st*> streams;
    std::map<void*, std::size_t> pinned;
    std::condition_variable enqueued;
    std::size_t awaited = 0;
    bool holds = false;
    std::size_t held = 0;
    std::condition_variable held_changed;
    std::string failing;
    int fail_after = 0;
    int fail_with = 0;
    FakeCudaCounts counts;
};

World& world() {
    static auto* const made = new World;
    return *made;
}

thread_local std::vector<CUctx_st*> current;

// Locks the state; if `code` is set, the call returns it and does nothing.
struct Entry {
    explicit Entry(const char* name) : lock(world().mutex) {
        World& of = world();
        ++of.counts.calls;
        if (of.failing == name && of.fail_after-- <= 0) code = of.fail_with;
    }
    void breach() { ++world().counts.breaches; }
    std::unique_lock<std::mutex> lock;
    int code = success;
};

// Whether one allocation contains the whole range.
bool is_device(std::uintptr_t address, std::size_t bytes) {
    auto after = world().sizes.upper_bound(address);
    if (after == world().sizes.begin()) return false;
    const auto [start, size] = *--after;
    return address - start <= size && bytes <= size - (address - start);
}

bool is_pinned(const void* memory, std::size_t bytes) {
    for (const auto& [start, size] : world().pinned) {
        const auto* const begin = static_cast<std::byte*>(start);
        const auto* const at = static_cast<const std::byte*>(memory);
        if (at >= begin && at + bytes <= begin + size) return true;
    }
    return false;
}

int enqueue(Entry& entry, void* to, const void* from, std::uintptr_t device, const void* host, std::size_t bytes,
            CUstream_st* stream) {
    World& of = world();
    if (current.empty() || !of.streams.contains(stream) || stream->context != current.back()) {
        entry.breach();
        return invalid_context;
    }
    if (!is_device(device, bytes)) {
        entry.breach();
        return invalid_value;
    }
    ++of.counts.copies;
    if (is_pinned(host, bytes)) ++of.counts.pinned_copies;
    stream->waiting.push_back({to, from, bytes, false});
    std::size_t under_way = 0;
    for (const CUstream_st* each : of.streams) under_way += each->waiting.size();
    of.counts.copies_at_once = std::max(of.counts.copies_at_once, under_way);
    of.enqueued.notify_all();
    return success;
}

// Waits while a test holds the copies on the device.
void hold(Entry& entry) {
    World& of = world();
    if (!of.holds) return;
    ++of.held;
    of.held_changed.notify_all();
    of.held_changed.wait(entry.lock, [&of] { return !of.holds; });
    --of.held;
}

}  // namespace

#define ENTRY(name) extern "C" __attribute__((visibility("default"))) int name

ENTRY(cuInit)(unsigned) {
    const Entry entry("cuInit");
    if (entry.code == success) world().started = true;
    return entry.code;
}

ENTRY(cuDeviceGet)(int* device, int ordinal) {
    const Entry entry("cuDeviceGet");
    *device = ordinal;
    return !world().started ? not_initialized : entry.code;
}

ENTRY(cuDeviceGetName)(char* name, int bytes, int) {
    const Entry entry("cuDeviceGetName");
    std::strncpy(name, "made-up device", static_cast<std::size_t>(bytes));
    return entry.code;
}

ENTRY(cuDevicePrimaryCtxRetain)(CUctx_st** context, int) {
    const Entry entry("cuDevicePrimaryCtxRetain");
    if (entry.code != success) return entry.code;
    ++world().primary.retained;
    ++world().counts.contexts;
    *context = &world().primary;
    return success;
}

ENTRY(cuDevicePrimaryCtxRelease_v2)(int) {
    Entry entry("cuDevicePrimaryCtxRelease_v2");
    if (world().primary.retained-- <= 0) entry.breach();
    --world().counts.contexts;
    return entry.code;
}

ENTRY(cuCtxPushCurrent_v2)(CUctx_st* context) {
    Entry entry("cuCtxPushCurrent_v2");
    if (entry.code != success) return entry.code;
    if (context != &world().primary || world().primary.retained == 0) {
        entry.breach();
        return invalid_context;
    }
    current.push_back(context);
    return success;
}

ENTRY(cuCtxPopCurrent_v2)(CUctx_st** context) {
    Entry entry("cuCtxPopCurrent_v2");
    if (current.empty()) {
        entry.breach();
        return invalid_context;
    }
    *context = current.back();
    current.pop_back();
    return success;
}

ENTRY(cuPointerGetAttribute)(void* value, int attribute, std::uintptr_t address) {
    const Entry entry("cuPointerGetAttribute");
    if (entry.code != success) return entry.code;
    if (!is_device(address, 0)) return invalid_value;
    const auto [start, size] = *--world().sizes.upper_bound(address);
    switch (attribute) {
        case 1:
            *static_cast<CUctx_st**>(value) = &world().primary;
            return success;
        case 2:
            *static_cast<unsigned*>(value) = 2;
            return success;
        case 9:
            *static_cast<int*>(value) = 0;
            return success;
        case 11:
            *static_cast<std::uintptr_t*>(value) = start;
            return success;
        case 12:
            *static_cast<std::size_t*>(value) = size;
            return success;
        default:
            return invalid_value;
    }
}

ENTRY(cuStreamCreate)(CUstream_st** stream, unsigned) {
    Entry entry("cuStreamCreate");
    if (entry.code != success) return entry.code;
    if (current.empty()) {
        entry.breach();
        return invalid_context;
    }
    *stream = new CUstream_st{current.back(), {}};
    world().streams.insert(*stream);
    ++world().counts.streams;
    return success;
}

ENTRY(cuStreamDestroy_v2)(CUstream_st* stream) {
    Entry entry("cuStreamDestroy_v2");
    if (world().streams.erase(stream) == 0) {
        entry.breach();
        return invalid_handle;
    }
    if (!stream->waiting.empty()) entry.breach();
    delete stream;
    --world().counts.streams;
    return entry.code;
}

ENTRY(cuStreamSynchronize)(CUstream_st* stream) {
    Entry entry("cuStreamSynchronize");
    if (!world().streams.contains(stream)) {
        entry.breach();
        return invalid_handle;
    }
    world().enqueued.wait_for(entry.lock, std::chrono::milliseconds(500),
                              [] { return world().counts.copies_at_once >= world().awaited; });
    const std::vector<FakeCopy> waiting = std::exchange(stream->waiting, {});
    if (!waiting.empty() && waiting.front().on_device) hold(entry);
    if (entry.code != success) return entry.code;
    for (const FakeCopy& copy : waiting) std::memcpy(copy.to, copy.from, copy.bytes);
    return success;
}

ENTRY(cuMemcpyHtoDAsync_v2)(std::uintptr_t to, const void* from, std::size_t bytes, CUstream_st* stream) {
    Entry entry("cuMemcpyHtoDAsync_v2");
    if (entry.code != success) return entry.code;
    return enqueue(entry, reinterpret_cast<void*>(to), from, to, from, bytes, stream);
}

ENTRY(cuMemcpyDtoHAsync_v2)(void* to, std::uintptr_t from, std::size_t bytes, CUstream_st* stream) {
    Entry entry("cuMemcpyDtoHAsync_v2");
    if (entry.code != success) return entry.code;
    return enqueue(entry, to, reinterpret_cast<const void*>(from), from, to, bytes, stream);
}

ENTRY(cuMemcpyDtoDAsync_v2)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, CUstream_st* stream) {
    Entry entry("cuMemcpyDtoDAsync_v2");
    if (entry.code != success) return entry.code;
    if (!is_device(from, bytes)) {
        entry.breach();
        return invalid_value;
    }
    ++world().counts.device_copies;
    const auto* const source = reinterpret_cast<const void*>(from);
    const int enqueued = enqueue(entry, reinterpret_cast<void*>(to), source, to, source, bytes, stream);
    if (enqueued == success) stream->waiting.back().on_device = true;
    return enqueued;
}

ENTRY(cuMemGetAddressRange_v2)(std::uintptr_t* start, std::size_t* bytes, std::uintptr_t address) {
    const Entry entry("cuMemGetAddressRange_v2");
    if (entry.code != success) return entry.code;
    if (!is_device(address, 0)) return invalid_value;
    std::tie(*start, *bytes) = *--world().sizes.upper_bound(address);
    return success;
}

#ifndef FAKE_CUDA_WITHOUT_IPC  // as before CUDA 4.1
ENTRY(cuIpcGetMemHandle)(Handle* handle, std::uintptr_t address) {
    Entry entry("cuIpcGetMemHandle");
    if (entry.code != success) return entry.code;
    const auto found = world().allocations.find(address);
    if (current.empty() || found == world().allocations.end()) {
        entry.breach();
        return invalid_value;
    }
    const FakeHandle of = found->second.handle();
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &of, sizeof of);
    return success;
}

ENTRY(cuIpcOpenMemHandle_v2)(std::uintptr_t* address, Handle handle, unsigned flags) {
    Entry entry("cuIpcOpenMemHandle_v2");
    if (entry.code != success) return entry.code;
    if (current.empty() || flags != 1) {
        entry.breach();
        return invalid_value;
    }
    FakeHandle of{};
    std::memcpy(&of, &handle, sizeof of);
    if (of.process == ::getpid()) return invalid_context;  // the real driver also refuses handles of its own process
    for (auto& [start, open] : world().opened) {
        if (!(open.memory.handle() == of)) continue;
        ++open.times;
        *address = start;
        ++world().counts.opens;
        world().counts.opened_at_once = std::max(world().counts.opened_at_once, ++world().counts.opened);
        return success;
    }
    FakeAllocation memory = FakeAllocation::open(of);
    if (!memory) return invalid_value;
    *address = memory.address();
    world().sizes[*address] = memory.bytes();
    world().opened[*address] = {std::move(memory), 1};
    ++world().counts.opens;
    world().counts.opened_at_once = std::max(world().counts.opened_at_once, ++world().counts.opened);
    return success;
}

ENTRY(cuIpcCloseMemHandle)(std::uintptr_t address) {
    Entry entry("cuIpcCloseMemHandle");
    const auto found = world().opened.find(address);
    if (current.empty() || found == world().opened.end()) {
        entry.breach();
        return invalid_value;
    }
    const std::size_t bytes = found->second.memory.bytes();
    for (const CUstream_st* stream : world().streams) {
        for (const FakeCopy& copy : stream->waiting) {
            const auto to = reinterpret_cast<std::uintptr_t>(copy.to);
            const auto from = reinterpret_cast<std::uintptr_t>(copy.from);
            if (to - address < bytes || from - address < bytes) entry.breach();
        }
    }
    --world().counts.opened;
    if (--found->second.times == 0) {
        world().sizes.erase(address);
        world().opened.erase(found);
    }
    return entry.code;
}
#endif

ENTRY(cuMemHostRegister_v2)(void* memory, std::size_t bytes, unsigned) {
    Entry entry("cuMemHostRegister_v2");
    if (entry.code != success) return entry.code;
    if (current.empty() || world().pinned.contains(memory)) {
        entry.breach();
        return invalid_value;
    }
    world().pinned[memory] = bytes;
    ++world().counts.pinned;
    return success;
}

ENTRY(cuMemHostUnregister)(void* memory) {
    Entry entry("cuMemHostUnregister");
    if (current.empty() || world().pinned.erase(memory) == 0) {
        entry.breach();
        return invalid_value;
    }
    --world().counts.pinned;
    return entry.code;
}

ENTRY(cuGetErrorName)(int code, const char** name) {
    *name = code == 201   ? "CUDA_ERROR_INVALID_CONTEXT"
            : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
                          : nullptr;
    return *name ? success : invalid_value;
}

// For the checks, which allocate memory and read it.

ENTRY(cuMemAlloc_v2)(std::uintptr_t* address, std::size_t bytes) {
    const Entry entry("cuMemAlloc_v2");
    if (current.empty()) return invalid_context;
    FakeAllocation memory = FakeAllocation::make(bytes);
    if (!memory) return out_of_memory;
    *address = memory.address();
    world().sizes[*address] = bytes;
    world().allocations[*address] = std::move(memory);
    return success;
}

ENTRY(cuMemFree_v2)(std::uintptr_t address) {
    Entry entry("cuMemFree_v2");
    const auto found = world().allocations.find(address);
    if (found == world().allocations.end()) return invalid_value;
    if (found->second.is_open_elsewhere()) entry.breach();
    world().sizes.erase(address);
    world().allocations.erase(found);
    return success;
}

ENTRY(cuMemcpyHtoD_v2)(std::uintptr_t to, const void* from, std::size_t bytes) {
    const Entry entry("cuMemcpyHtoD_v2");
    if (!is_device(to, bytes)) return invalid_value;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return success;
}

ENTRY(cuMemcpyDtoH_v2)(void* to, std::uintptr_t from, std::size_t bytes) {
    const Entry entry("cuMemcpyDtoH_v2");
    if (!is_device(from, bytes)) return invalid_value;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return success;
}

ENTRY(cuMemcpyDtoD_v2)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    const Entry entry("cuMemcpyDtoD_v2");
    if (!is_device(to, bytes) || !is_device(from, bytes)) return invalid_value;
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return success;
}

ENTRY(cuCtxSynchronize)() {
    const Entry entry("cuCtxSynchronize");
    return current.empty() ? invalid_context : success;
}

// Called by the tests of the fake driver.

extern "C" __attribute__((visibility("default"))) void fake_cuda_fail(const char* name, int after, int code) {
    const std::lock_guard lock(world().mutex);
    world().failing = name;
    world().fail_after = after;
    world().fail_with = code;
}

extern "C" __attribute__((visibility("default"))) void fake_cuda_await_copies(std::size_t copies) {
    const std::lock_guard lock(world().mutex);
    world().awaited = copies;
    world().counts.copies_at_once = 0;
}

extern "C" __attribute__((visibility("default"))) FakeCudaCounts fake_cuda_counts() {
    const std::lock_guard lock(world().mutex);
    return world().counts;
}

extern "C" __attribute__((visibility("default"))) void fake_cuda_hold_device_copies(bool hold) {
    const std::lock_guard lock(world().mutex);
    world().holds = hold;
    world().held_changed.notify_all();
}

extern "C" __attribute__((visibility("default"))) std::size_t fake_cuda_held() {
    const std::lock_guard lock(world().mutex);
    return world().held;
}

extern "C" __attribute__((visibility("default"))) bool fake_cuda_await_held(std::size_t copies) {
    std::unique_lock lock(world().mutex);
    return world().held_changed.wait_for(lock, std::chrono::seconds(20), [&] { return world().held >= copies; });
}
