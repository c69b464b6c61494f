// SPDX-License-Identifier: BSD-3-Clause
// What serves an RPC id.
#pragma once

#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::rpc {

class Request;

// `run` is called from trigger() with one reference to the request, which it must release (or hand on). `target` is
// kept alive while any request of this handler is running.
struct Handler {
    void (*run)(Request& request, void* target) noexcept = nullptr;
    std::shared_ptr<void> target;
    std::string name;         // for messages; and to tell colliding ids apart
    std::uint16_t shape = 0;  // of the argument type; 0: not checked
};

}  // namespace cinnabar::rpc
