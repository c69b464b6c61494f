// SPDX-License-Identifier: BSD-3-Clause
// Memory that a handler pulls, with sums of its chunks and without.
#pragma once

#include "../harness/subject.hpp"

#include <memory>

namespace cinnabar::bench {

// Calls that lend 64 MiB, one after the other, over tcp; with sums, those are made for each call. Nodes as they are
// opened by default. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_pulls(Cores cores, bool with_sums);

}  // namespace cinnabar::bench
