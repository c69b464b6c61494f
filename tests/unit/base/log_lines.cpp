// SPDX-License-Identifier: BSD-3-Clause
// Logs two lines; the environment sets levels and format.
#include <cinnabar/base/log.hpp>

int main() {
    cinnabar::log(cinnabar::LogLevel::info, "rpc", "one");
    cinnabar::log(cinnabar::LogLevel::info, "tcp", "another");
    return cinnabar::flush_log(cinnabar::Microseconds{20'000'000}) ? 0 : 1;
}
