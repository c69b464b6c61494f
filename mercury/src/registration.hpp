// SPDX-License-Identifier: BSD-3-Clause
// What is known of an RPC id. Found without a lock; lives as long as the engine, so that handles may point to it.
#pragma once

#include "mercury.h"

#include <cinnabar/rpc/request.hpp>

#include <atomic>

namespace cinnabar::mercury {

struct Registration {
    hg_id_t id = 0;
    hg_proc_cb_t in_proc = nullptr;
    hg_proc_cb_t out_proc = nullptr;
    hg_rpc_cb_t handler = nullptr;
    hg_core_rpc_cb_t core_handler = nullptr;  // instead, where HG_Core registered it
    std::atomic<bool> one_way{false};
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;

    Registration() = default;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { free_data(); }
    void free_data() noexcept;
};

// Null when the id is not registered.
[[nodiscard]] Registration* find(const hg_class& owner, hg_id_t id) noexcept;

// The engine's handler of every registration: makes the handle and runs the user's.
void run_handler(rpc::Request& request, void* registration) noexcept;

}  // namespace cinnabar::mercury
