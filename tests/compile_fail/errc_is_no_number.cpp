// SPDX-License-Identifier: BSD-3-Clause
// A code is neither a number nor a truth: `if (post(...))` would read as success and mean failure.
#include <cinnabar/base/error.hpp>

cinnabar::Errc post();

int use() {
    if (post() == cinnabar::Errc::ok) return 0;
#ifdef CINNABAR_MUST_FAIL
    const int code = post();
    return code;
#else
    return 1;
#endif
}
