// SPDX-License-Identifier: BSD-3-Clause
// The format does not stand in the module's place.
#include <cinnabar/base/log.hpp>

void complain(int count) {
    cinnabar::log(cinnabar::LogLevel::warning, "app", "%d of them", count);
#ifdef CINNABAR_MUST_FAIL
    cinnabar::log(cinnabar::LogLevel::warning, "%d of them", "%d", count);
#endif
}
