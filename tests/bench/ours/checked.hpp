// SPDX-License-Identifier: BSD-3-Clause
// Memory that a handler pulls, with and without checksums of its chunks.
#pragma once

#include "../harness/subject.hpp"

#include <memory>

namespace cinnabar::bench {

// Calls over tcp, one after the other, that each lend 64 MiB. Checksums are computed for each call. Nodes with default
// options. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_pulls(Cores cores, bool with_sums);

}  // namespace cinnabar::bench
