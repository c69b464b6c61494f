// SPDX-License-Identifier: BSD-3-Clause
// The handler of an RPC id.
#pragma once

#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::rpc {

class Request;

// `run` is called from trigger(), unless `on_arrival` or `urgent` below says otherwise. `run` owns one reference to the
// request, and must release it or pass it on. `target` is kept alive while any request of this handler is running.
struct Handler {
    void (*run)(Request& request, void* target) noexcept = nullptr;
    std::shared_ptr<void> target;
    std::string name;         // for messages, and to detect two names with the same id
    std::uint16_t shape = 0;  // of the argument type; 0: not checked
    // Runs the handler inside progress(), where the request was read, while the context is owned: there is no queue in
    // between, and the reply is sent at once. This applies only to small requests that are not one-way; the handlers of
    // all others run from trigger(). Meant for handlers that only compute and answer. The handler must not block, must
    // not drive a context, and may use other contexts only to forward calls. If the handler keeps the request, or hands
    // it to another thread, the handler must call detach() first.
    bool on_arrival = false;
    // Lets requests wait in a queue of their own, which trigger() and Context::run_urgent() empty. So a handler that
    // holds trigger() does not delay these requests, except those whose arguments are so large that they are pulled.
    // Requires: on_arrival is set, too; on_arrival has no effect of its own then.
    bool urgent = false;
    // Each request carries a key that the handler checks, so the policy is not consulted.
    bool by_key = false;
};

}  // namespace cinnabar::rpc
