// SPDX-License-Identifier: BSD-3-Clause
#if defined(__x86_64__)

#include "processor_ticks.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <cpuid.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace cinnabar {
namespace {

bool ticks_evenly() noexcept {
    constexpr unsigned power_leaf = 0x80000007;
    constexpr unsigned invariant_bit = 1u << 8;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return ::__get_cpuid(power_leaf, &a, &b, &c, &d) != 0 && (d & invariant_bit) != 0;
}

bool may_be_read() noexcept {
    int mode = 0;
    return ::prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
}

// Linux stops using the counter if it differs between processors.
bool linux_uses_it() noexcept {
    const UniqueFd file(
        ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
    std::array<char, 64> text{};
    const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : 0;
    if (count <= 1) return false;
    const std::string_view name(text.data(), static_cast<std::size_t>(count) - 1);  // without the newline
    return name == "tsc" || name == "kvm-clock" || name == "hyperv_clocksource_tsc_page";
}

}  // namespace

bool ProcessorTicks::usable() noexcept { return ticks_evenly() && may_be_read() && linux_uses_it(); }

}  // namespace cinnabar

#endif
