// SPDX-License-Identifier: BSD-3-Clause
// What serves an RPC id.
#pragma once

#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::rpc {

class Request;

// `run` is called from trigger(), or else see on_arrival, with one reference to the request, which it must release (or
// hand on). `target` is kept alive while any request of this handler is running.
struct Handler {
    void (*run)(Request& request, void* target) noexcept = nullptr;
    std::shared_ptr<void> target;
    std::string name;         // for messages; and to tell colliding ids apart
    std::uint16_t shape = 0;  // of the argument type; 0: not checked
    // Small requests run inside progress(), where they were read, while the context is owned: no queue lies between,
    // and the reply leaves at once. For handlers that compute and answer. Such a one must not block or wait, must not
    // drive a context, and may use no other context but to forward calls. One that keeps its request, or hands it to
    // another thread, calls detach() first. Larger requests, and one-way ones, run from trigger().
    bool on_arrival = false;
    // Each request carries a key that the handler checks, so no policy is consulted.
    bool by_key = false;
};

}  // namespace cinnabar::rpc
