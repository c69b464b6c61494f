// SPDX-License-Identifier: BSD-3-Clause
// The parts of base that use the operating system.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/random.h>
#include <unistd.h>

#include <ctime>

namespace cinnabar {
namespace {

class SteadyClock final : public TimeSource {
  public:
    TimeUs now_us() noexcept override { return read(CLOCK_MONOTONIC); }
    TimeUs coarse_us() noexcept override { return read(CLOCK_MONOTONIC_COARSE); }

  private:
    static TimeUs read(clockid_t clock) noexcept {
        timespec t{};
        ::clock_gettime(clock, &t);
        return static_cast<TimeUs>(t.tv_sec) * 1'000'000u + static_cast<TimeUs>(t.tv_nsec) / 1'000u;
    }
};

}  // namespace

TimeSource& steady_clock() noexcept {
    // Never destroyed: what runs at exit reads it, such as the last lines of the log.
    union Kept {
        SteadyClock clock;
        constexpr Kept() noexcept : clock() {}
        constexpr ~Kept() {}
    };
    static constinit Kept kept;
    return kept.clock;
}

std::uint64_t secret_u64() noexcept {
    std::uint64_t value = 0;
    while (value == 0) {
        const auto count = ::getrandom(&value, sizeof value, 0);
        CINNABAR_ASSERT(count == static_cast<ssize_t>(sizeof value));
    }
    return value;
}

void UniqueFd::reset(int fd) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

}  // namespace cinnabar
