// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of tcps by certificates of both sides, on the loopback, both ends in one thread.
#pragma once

#include "../harness/subject.hpp"

#include <memory>

namespace cinnabar::bench {

enum class Handshake : bool { full, resumed };

// A connection each time, as a transport makes it, below its greeting: accepted, proven, a byte from the server,
// closed. Work: handshakes.
[[nodiscard]] std::unique_ptr<Subject> make_our_handshakes(Handshake kind);

}  // namespace cinnabar::bench
