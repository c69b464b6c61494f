// SPDX-License-Identifier: BSD-3-Clause
#include "file/probe_precision.hpp"
#include "file/rename_staged.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::files {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// Seconds and nanoseconds as the file system holds them.
std::pair<std::int64_t, std::int64_t> held_time(const AttributePrecision& by, const Attributes& of) noexcept {
    if (of.modified_s < by.oldest_s) return {by.oldest_s, 0};
    const auto step = static_cast<std::int64_t>(by.time_step_ns);
    if (step <= second_ns) return {of.modified_s, of.modified_ns - of.modified_ns % step};
    const std::int64_t seconds = step / second_ns;
    const std::int64_t beyond = of.modified_s % seconds;
    return {of.modified_s - (beyond < 0 ? beyond + seconds : beyond), 0};
}

std::optional<struct stat> after_time(int fd, const timespec& modified) noexcept {
    const timespec times[2] = {{0, UTIME_OMIT}, modified};
    struct stat status {};
    if (::futimens(fd, times) != 0 || ::fstat(fd, &status) != 0) return std::nullopt;
    return status;
}

std::optional<mode_t> after_mode(int fd, mode_t mode) noexcept {
    struct stat status {};
    if (::fchmod(fd, mode) != 0 || ::fstat(fd, &status) != 0) return std::nullopt;
    return status.st_mode;
}

}  // namespace

bool AttributePrecision::same_mode(const Attributes& a, const Attributes& b) const noexcept {
    return ((a.mode ^ b.mode) & mode_bits) == 0;
}

bool AttributePrecision::same_mode_and_time(const Attributes& a, const Attributes& b) const noexcept {
    return same_mode(a, b) && held_time(*this, a) == held_time(*this, b);
}

AttributePrecision probe_precision(int folder) {
    AttributePrecision found;
    const std::string name = make_staged_name();
    const UniqueFd file(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return found;
    // The last nanosecond of an odd second: how much of it is cut off tells the steps.
    constexpr timespec fine{1'700'000'001, second_ns - 1};
    if (const auto cut = after_time(file.get(), fine)) {
        const auto lost = (fine.tv_sec - cut->st_mtim.tv_sec) * second_ns + fine.tv_nsec - cut->st_mtim.tv_nsec;
        if (lost > 0 && lost < static_cast<std::int64_t>(AttributePrecision::time_step_ns_max))
            found.time_step_ns = static_cast<std::uint64_t>(lost) + 1;
    }
    const auto oldest = after_time(file.get(), {0, 0});
    if (oldest && oldest->st_mtim.tv_sec > 0) found.oldest_s = oldest->st_mtim.tv_sec;
    const auto all = after_mode(file.get(), 0777);
    const auto none = after_mode(file.get(), 0);
    if (all && none) found.mode_bits = (*all ^ *none) & 0777u;
    (void)::unlinkat(folder, name.c_str(), 0);
    return found;
}

}  // namespace cinnabar::files
