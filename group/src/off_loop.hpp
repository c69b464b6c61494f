// SPDX-License-Identifier: BSD-3-Clause
// Runs a blocking function on a separate thread while a task waits for it.
#pragma once

#include "signal.hpp"

#include <cinnabar/base/background.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/task.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace cinnabar::group {

// Runs f() on a separate thread and returns its Result. f must own all data that it uses, because f() may still run
// after the task has given up (timed_out, canceled). overloaded: the system cannot start a thread.
template <typename F>
hl::Task<std::invoke_result_t<F&>> off_loop(hl::NodeRef node, F f) {
    struct Run {
        explicit Run(F run) : f(std::move(run)) {}
        F f;
        std::optional<std::invoke_result_t<F&>> result;
        std::shared_ptr<Signal> done = std::make_shared<Signal>();
    };
    auto state = std::make_shared<Run>(std::move(f));
    auto* const held = new std::shared_ptr<Run>(state);
    const bool runs = run_in_background(
        [](void* user) -> void* {
            const std::unique_ptr<std::shared_ptr<Run>> own(static_cast<std::shared_ptr<Run>*>(user));
            Run& inside = **own;
            try {
                inside.result.emplace(inside.f());
            } catch (const std::exception&) {
                inside.result.emplace(Error(Errc::out_of_memory));
            }
            inside.done->set();
            return nullptr;
        },
        held);
    if (!runs) {
        delete held;
        co_return Error(Errc::overloaded, "the system can start no thread for it");
    }
    auto waiting = wait_for(node, state->done);
    const Errc ended = co_await waiting;
    if (ended != Errc::ok) co_return Error(ended, advice(ended));
    co_return *std::move(state->result);
}

}  // namespace cinnabar::group
