// SPDX-License-Identifier: BSD-3-Clause
// The part of Level Zero that copies need, from libze_loader.so.1, which is loaded at first use. The prototypes are our
// own, written from the oneAPI Level Zero specification, so no headers of Level Zero are needed to build.
#pragma once

#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::bulk::ze {

using Code = int;  // ze_result_t
inline constexpr Code success = 0;
inline constexpr Code code_uninitialized = 0x78000001;  // there is no device driver
inline constexpr Code code_out_of_host_memory = 0x70000002;
inline constexpr Code code_out_of_device_memory = 0x70000003;
using DriverHandle = struct ZeDriverObject*;      // ze_driver_handle_t
using Device = struct ZeDeviceObject*;            // ze_device_handle_t
using Context = struct ZeContextObject*;          // ze_context_handle_t
using CommandList = struct ZeCommandListObject*;  // ze_command_list_handle_t
using Event = struct ZeEventObject*;              // ze_event_handle_t

// ze_context_desc_t, 24 bytes
struct ContextDescription {
    int structure = 0xd;
    const void* next = nullptr;
    std::uint32_t flags = 0;
};
static_assert(sizeof(ContextDescription) == 24);

// ze_command_queue_desc_t, 40 bytes
struct QueueDescription {
    int structure = 0xe;
    const void* next = nullptr;
    std::uint32_t ordinal = 0;  // of a QueueGroup
    std::uint32_t index = 0;
    std::uint32_t flags = 0;
    int mode = 1;  // ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS: appended commands have been executed on return
    int priority = 0;
};
static_assert(sizeof(QueueDescription) == 40);

// ze_command_queue_group_properties_t, 40 bytes
struct QueueGroup {
    int structure = 0x6;
    void* next = nullptr;
    std::uint32_t flags = 0;
    std::size_t fill_bytes_max = 0;
    std::uint32_t queues = 0;
};
static_assert(sizeof(QueueGroup) == 40);
inline constexpr std::uint32_t group_copies = 2;  // ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY

// ze_memory_allocation_properties_t, 40 bytes
struct AllocationProperties {
    int structure = 0x17;
    void* next = nullptr;
    int type = 0;
    std::uint64_t id = 0;
    std::uint64_t page_bytes = 0;
};
static_assert(sizeof(AllocationProperties) == 40);
inline constexpr int memory_type_device = 2;  // ZE_MEMORY_TYPE_DEVICE

struct Driver {
    Code (*init)(std::uint32_t flags) = nullptr;
    Code (*get_drivers)(std::uint32_t* count, DriverHandle* drivers) = nullptr;
    Code (*context_create)(DriverHandle driver, const ContextDescription* description, Context* context) = nullptr;
    Code (*allocation)(Context context, const void* memory, AllocationProperties* properties, Device* device) = nullptr;
    Code (*address_range)(Context context, const void* memory, void** start, std::size_t* bytes) = nullptr;
    Code (*queue_groups)(Device device, std::uint32_t* count, QueueGroup* groups) = nullptr;
    Code (*list_create)(Context context, Device device, const QueueDescription* description,
                        CommandList* list) = nullptr;
    Code (*list_destroy)(CommandList list) = nullptr;
    Code (*append_copy)(CommandList list, void* to, const void* from, std::size_t bytes, Event signal,
                        std::uint32_t count, Event* waited) = nullptr;

    // The library's own contexts, one for each installed Level Zero driver, kept until the process ends. The program's
    // memory belongs to a context of the program, which the library does not know. The specification lets a driver
    // refuse memory of another context; Intel's driver does not.
    std::vector<Context> contexts;
};

// Level Zero has no names for its errors.
[[nodiscard]] std::string text_of(Code code);

// Loads and initializes the driver, once; the driver is never unloaded. Errors as gpu::cuda_driver().
[[nodiscard]] Result<const Driver*> driver();

}  // namespace cinnabar::bulk::ze
