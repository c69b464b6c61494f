// SPDX-License-Identifier: BSD-3-Clause
// The echo of make_our_rpc, written against mercury.h, in shared memory, with both ends polling. Shows the cost of
// Mercury's API.
#pragma once

#include "../harness/subject.hpp"
#include "../limits/limits.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

inline constexpr std::size_t mercury_api_payload_bytes = 64;

// One call in flight. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_mercury_api_rpc(Cores cores);

}  // namespace cinnabar::bench
