// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace cinnabar::counts {

// What the accounts of credits cost a small call: the instructions of the lines that maintain them, per call and side.
// The bytes in the header are not counted, since they would be there anyway. `scheme` is as for call_loop, which must
// be built with line numbers from the sources of this tree. 0: it did not run, or has no line numbers.
[[nodiscard]] unsigned long credit_cost(const std::string& scheme);

}  // namespace cinnabar::counts
