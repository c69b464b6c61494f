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

// A node with the transports that the address names, or with `transport` alone. bad_address: no such transport, or it
// cannot be parsed.
[[nodiscard]] Result<Reached> reach(const std::string& server, const std::string& transport = {});

// Which of the endpoints calls use, and why.
[[nodiscard]] std::string way_to(const Reached& reached);

}  // namespace cinnabar::tools
