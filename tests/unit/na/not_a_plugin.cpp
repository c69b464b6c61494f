// SPDX-License-Identifier: BSD-3-Clause
// A shared object that exports something, but no plugin.
#include <cinnabar/base/export.hpp>

extern "C" CINNABAR_API int not_a_plugin() { return 7; }
