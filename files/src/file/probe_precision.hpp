// SPDX-License-Identifier: BSD-3-Clause
// Finds out how exactly a file system holds attributes, by giving some to a file and looking at them.
#pragma once

#include <cinnabar/files/attribute_precision.hpp>

namespace cinnabar::files {

// Makes a file in the folder and removes it again: about ten system calls. What cannot be found out, as in a folder
// that is full or may not be written to, counts as held exactly.
[[nodiscard]] AttributePrecision probe_precision(int folder);

}  // namespace cinnabar::files
