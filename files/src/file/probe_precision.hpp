// SPDX-License-Identifier: BSD-3-Clause
// Finds out how exactly a file system holds attributes, by giving some to a file and looking at them.
#pragma once

#include <cinnabar/files/attribute_precision.hpp>

namespace cinnabar::files {

// Makes a file in the folder, gives it attributes, looks at them, and removes it: about ten system calls. What cannot
// be found out, for example because the folder is full or read-only, counts as stored exactly.
[[nodiscard]] AttributePrecision probe_precision(int folder);

}  // namespace cinnabar::files
