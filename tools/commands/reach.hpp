// SPDX-License-Identifier: BSD-3-Clause
// From the address on a command line to a server that can be called.
#pragma once

#include <cinnabar/hl/node.hpp>

#include <string>

namespace cinnabar::tools {

struct Reached {
    hl::Node node;
    na::Addr server;
};

// A node with the transport that the address needs. bad_address: no such transport, or it cannot be parsed.
[[nodiscard]] Result<Reached> reach(const std::string& server);

}  // namespace cinnabar::tools
