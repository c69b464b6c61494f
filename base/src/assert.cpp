// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <cstdlib>

namespace cinnabar {

void assert_failed(const char* expression, const char* file, int line) noexcept {
    log(LogLevel::error, "base", "bug: %s is false at %s:%d", expression, file, line);
    (void)flush_log(Microseconds{200'000});
    std::abort();
}

}  // namespace cinnabar
