// SPDX-License-Identifier: BSD-3-Clause
// Handshakes of tcps with certificates on both sides, on the loopback, with both ends on one thread.
#pragma once

#include "../harness/subject.hpp"

#include <memory>

namespace cinnabar::bench {

enum class Handshake : bool { full, resumed };

// Each time makes a connection as a transport does, but without the greeting: accepts, verifies, receives a byte from
// the server, and closes. Work: handshakes.
[[nodiscard]] std::unique_ptr<Subject> make_our_handshakes(Handshake kind);

}  // namespace cinnabar::bench
