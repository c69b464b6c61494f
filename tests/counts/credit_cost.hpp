// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace cinnabar::counts {

// What the accounts of credits cost a small call: the instructions of the lines that keep them, per call and side. Not
// counted: the bytes in the header, which would be there anyway. `scheme` is that of call_loop, built with line numbers
// from the sources of this tree. 0: it did not run, or has no line numbers.
[[nodiscard]] unsigned long credit_cost(const std::string& scheme);

}  // namespace cinnabar::counts
