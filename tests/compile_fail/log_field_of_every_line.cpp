// SPDX-License-Identifier: BSD-3-Clause
// A field has no key that every line has as a member.
#include <cinnabar/base/log.hpp>

void complain(const char* name) {
    cinnabar::log(cinnabar::LogLevel::warning, "app", {cinnabar::LogField("file", name)}, "it is full");
#ifdef CINNABAR_MUST_FAIL
    cinnabar::log(cinnabar::LogLevel::warning, "app", {cinnabar::LogField("text", name)}, "it is full");
#endif
}
