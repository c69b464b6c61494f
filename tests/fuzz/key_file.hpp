// SPDX-License-Identifier: BSD-3-Clause
// The key that both sides of a fuzzed TLS session share.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace cinnabar::fuzz {

// In memory, so that no file is left behind.
inline std::string key_file() {
    constexpr std::string_view line = "tests:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    static const UniqueFd file(::memfd_create("key", MFD_CLOEXEC));
    CINNABAR_ASSERT(::fchmod(file.get(), 0600) == 0);
    CINNABAR_ASSERT(::pwrite(file.get(), line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()));
    return "/proc/self/fd/" + std::to_string(file.get());
}

}  // namespace cinnabar::fuzz
