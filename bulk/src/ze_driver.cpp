// SPDX-License-Identifier: BSD-3-Clause
#include "ze_driver.hpp"

#include "driver_library.hpp"

#include <array>
#include <cstdio>

namespace cinnabar::bulk::ze {
namespace {

constexpr const char* ze_libraries[] = {"libze_loader.so.1"};

void find_ze(DriverLibrary& library, Driver& driver) {
    library.find(driver.init, "zeInit");
    library.find(driver.get_drivers, "zeDriverGet");
    library.find(driver.context_create, "zeContextCreate");
    library.find(driver.allocation, "zeMemGetAllocProperties");
    library.find(driver.address_range, "zeMemGetAddressRange");
    library.find(driver.queue_groups, "zeDeviceGetCommandQueueGroupProperties");
    library.find(driver.list_create, "zeCommandListCreateImmediate");
    library.find(driver.list_destroy, "zeCommandListDestroy");
    library.find(driver.append_copy, "zeCommandListAppendMemoryCopy");
}

Code make_contexts(Driver& driver) {
    std::uint32_t count = 0;
    Code code = driver.get_drivers(&count, nullptr);
    std::vector<DriverHandle> drivers(count);
    if (code == success && count > 0) code = driver.get_drivers(&count, drivers.data());
    for (std::uint32_t i = 0; code == success && i < count && i < drivers.size(); ++i) {
        const ContextDescription description;
        Context context = nullptr;
        code = driver.context_create(drivers[i], &description, &context);
        if (code == success) driver.contexts.push_back(context);
    }
    return code;
}

Result<const Driver*> open_ze() {
    DriverLibrary library(ze_libraries);
    if (!library.is_open())
        return Error(Errc::unsupported, "no Level Zero loader here: install libze1, or use host memory", library.why());
    static Driver kept;
    kept = Driver();
    find_ze(library, kept);
    if (const char* const missing = library.missing())
        return Error(Errc::unsupported, "the Level Zero loader here is too old: it lacks a function", missing);
    Code code = kept.init(0);
    if (code == code_uninitialized)
        return Error(Errc::unsupported, "no Level Zero driver of a device here: install it, or use host memory",
                     text_of(code));
    if (code == success) code = make_contexts(kept);
    if (code != success)
        return Error(Errc::io, "Level Zero does not start: check that a driver of the device is installed",
                     text_of(code));
    return &kept;
}

}  // namespace

std::string text_of(Code code) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%#x", static_cast<unsigned>(code));
    return text.data();
}

Result<const Driver*> driver() {
    static OpenedOnce<Driver> opened;
    return opened.get(open_ze);
}

}  // namespace cinnabar::bulk::ze
