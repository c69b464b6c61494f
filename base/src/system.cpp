// SPDX-License-Identifier: BSD-3-Clause
// The parts of base that use the operating system.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/random.h>
#include <unistd.h>

namespace cinnabar {

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
