// SPDX-License-Identifier: BSD-3-Clause
// An outcome is looked at.
#include <cinnabar/base/result.hpp>

cinnabar::Result<int> open_it();

void use() {
    (void)open_it();
#ifdef CINNABAR_MUST_FAIL
    open_it();
#endif
}
