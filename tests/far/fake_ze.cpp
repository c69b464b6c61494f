// SPDX-License-Identifier: BSD-3-Clause
// A simulated Level Zero loader: a libze_loader.so.1 with the entry points that Cinnabar uses. Two drivers; only the
// second has a device, and that device's memory is host memory. It checks the types of structures, that a group of
// queues can copy, and that one thread at a time uses a command list. As with Intel's driver, an allocation is found
// through any context of the driver that made it.
#include "fake_ze.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 0x78000004;  // ZE_RESULT_ERROR_INVALID_ARGUMENT

// The structures as the specification has them.
struct Header {
    int type;
    const void* next;
};
struct ContextDescription : Header {
    std::uint32_t flags;
};
struct QueueDescription : Header {
    std::uint32_t ordinal, index, flags;
    int mode, priority;
};
struct QueueGroup : Header {
    std::uint32_t flags;
    std::size_t fill_bytes_max;
    std::uint32_t queues;
};
struct Allocation : Header {
    int memory_type;
    std::uint64_t id, page_bytes;
};

struct Object {
    int driver = 0;
};
struct List {
    bool busy = false;
};

struct World {
    std::mutex mutex;
    Object drivers[2] = {{0}, {1}};
    Object contexts[2] = {{0}, {1}};
    Object device{1};
    std::map<std::byte*, std::pair<std::unique_ptr<std::byte[]>, std::size_t>> memory;
    std::map<List*, std::unique_ptr<List>> lists;
    std::size_t under_way = 0;
    std::string failing;
    int fail_after = 0;
    int fail_with = 0;
    FakeZeCounts counts;
};

World& world() {
    static auto* const made = new World;
    return *made;
}

struct Entry {
    explicit Entry(const char* name) : lock(world().mutex) {
        World& of = world();
        if (of.failing == name && of.fail_after-- <= 0) code = of.fail_with;
    }
    [[nodiscard]] int breach() const {
        ++world().counts.breaches;
        return invalid_argument;
    }
    std::unique_lock<std::mutex> lock;
    int code = success;
};

// The allocation that contains the address; its end() if there is none.
auto allocation_of(const void* address) {
    auto& all = world().memory;
    auto after = all.upper_bound(static_cast<std::byte*>(const_cast<void*>(address)));
    if (after == all.begin()) return all.end();
    --after;
    const auto skipped = static_cast<std::size_t>(static_cast<const std::byte*>(address) - after->first);
    return skipped < after->second.second ? after : all.end();
}

bool is_device(const void* address, std::size_t bytes) {
    const auto found = allocation_of(address);
    if (found == world().memory.end()) return false;
    return bytes <=
           found->second.second - static_cast<std::size_t>(static_cast<const std::byte*>(address) - found->first);
}

}  // namespace

#define ENTRY(name) extern "C" __attribute__((visibility("default"))) int name

ENTRY(zeInit)(std::uint32_t flags) {
    const Entry entry("zeInit");
    return flags == 0 ? entry.code : entry.breach();
}

ENTRY(zeDriverGet)(std::uint32_t* count, Object** drivers) {
    const Entry entry("zeDriverGet");
    if (entry.code != success) return entry.code;
    *count = *count == 0 ? 2 : std::min<std::uint32_t>(*count, 2);
    for (std::uint32_t i = 0; drivers && i < *count; ++i) drivers[i] = &world().drivers[i];
    return success;
}

ENTRY(zeContextCreate)(Object* driver, const ContextDescription* description, Object** context) {
    const Entry entry("zeContextCreate");
    if (entry.code != success) return entry.code;
    if (description->type != 0xd || description->next || description->flags != 0) return entry.breach();
    *context = &world().contexts[driver->driver];
    return success;
}

ENTRY(zeMemGetAllocProperties)(Object* context, const void* memory, Allocation* found, Object** device) {
    const Entry entry("zeMemGetAllocProperties");
    if (entry.code != success) return entry.code;
    if (found->type != 0x17 || found->next) return entry.breach();
    const bool here = context->driver == world().device.driver && allocation_of(memory) != world().memory.end();
    found->memory_type = here ? 2 : 0;  // device, or unknown
    *device = here ? &world().device : nullptr;
    return success;
}

ENTRY(zeMemGetAddressRange)(Object* context, const void* memory, void** start, std::size_t* bytes) {
    const Entry entry("zeMemGetAddressRange");
    if (entry.code != success) return entry.code;
    const auto found = allocation_of(memory);
    if (context->driver != world().device.driver || found == world().memory.end()) return entry.breach();
    *start = found->first;
    *bytes = found->second.second;
    return success;
}

// The first group cannot copy.
ENTRY(zeDeviceGetCommandQueueGroupProperties)(Object* device, std::uint32_t* count, QueueGroup* groups) {
    const Entry entry("zeDeviceGetCommandQueueGroupProperties");
    if (entry.code != success) return entry.code;
    if (device != &world().device) return entry.breach();
    *count = *count == 0 ? 3 : std::min<std::uint32_t>(*count, 3);
    constexpr std::uint32_t flags[] = {4, 3, 2};
    for (std::uint32_t i = 0; groups && i < *count; ++i) {
        if (groups[i].type != 6 || groups[i].next) return entry.breach();
        groups[i].flags = flags[i];
        groups[i].queues = 1;
    }
    return success;
}

ENTRY(zeCommandListCreateImmediate)(Object* context, Object* device, const QueueDescription* queue, List** list) {
    const Entry entry("zeCommandListCreateImmediate");
    if (entry.code != success) return entry.code;
    const bool right = context->driver == device->driver && device == &world().device && queue->type == 0xe &&
                       !queue->next && queue->ordinal == 1 && queue->index == 0 && queue->flags == 0 &&
                       queue->mode == 1 && queue->priority == 0;
    if (!right) return entry.breach();
    auto made = std::make_unique<List>();
    *list = made.get();
    world().lists[*list] = std::move(made);
    ++world().counts.lists;
    return success;
}

ENTRY(zeCommandListDestroy)(List* list) {
    const Entry entry("zeCommandListDestroy");
    const auto found = world().lists.find(list);
    if (found == world().lists.end() || list->busy) return entry.breach();
    world().lists.erase(found);
    --world().counts.lists;
    return success;
}

ENTRY(zeCommandListAppendMemoryCopy)
(List* list, void* to, const void* from, std::size_t bytes, void* signal, std::uint32_t count, void** waited) {
    Entry entry("zeCommandListAppendMemoryCopy");
    World& of = world();
    if (!of.lists.contains(list) || list->busy || signal || count != 0 || waited) return entry.breach();
    if (is_device(to, bytes) == is_device(from, bytes)) return entry.breach();
    if (entry.code != success) return entry.code;
    list->busy = true;
    ++of.counts.copies;
    of.counts.copies_at_once = std::max(of.counts.copies_at_once, ++of.under_way);
    entry.lock.unlock();
    std::memcpy(to, from, bytes);
    entry.lock.lock();
    --of.under_way;
    list->busy = false;
    return success;
}

// Called by the tests.

extern "C" __attribute__((visibility("default"))) void* fake_ze_allocate(std::size_t bytes) {
    const std::lock_guard lock(world().mutex);
    auto memory = std::make_unique<std::byte[]>(bytes);
    std::byte* const at = memory.get();
    world().memory[at] = {std::move(memory), bytes};
    return at;
}

extern "C" __attribute__((visibility("default"))) void fake_ze_free(void* memory) {
    const std::lock_guard lock(world().mutex);
    world().memory.erase(static_cast<std::byte*>(memory));
}

extern "C" __attribute__((visibility("default"))) void fake_ze_fail(const char* name, int after, int code) {
    const std::lock_guard lock(world().mutex);
    world().failing = name;
    world().fail_after = after;
    world().fail_with = code;
}

extern "C" __attribute__((visibility("default"))) FakeZeCounts fake_ze_counts() {
    const std::lock_guard lock(world().mutex);
    return world().counts;
}
