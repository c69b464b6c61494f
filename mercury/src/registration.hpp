// SPDX-License-Identifier: BSD-3-Clause
// The registration of an RPC id. A registration is found without a lock, and lives as long as the engine, so that
// handles may point to it. A registration may be changed while requests run.
#pragma once

#include "mercury.h"

#include <cinnabar/rpc/request.hpp>

#include <atomic>

namespace cinnabar::mercury {

struct Registration {
    hg_id_t id = 0;
    std::atomic<hg_proc_cb_t> in_proc{nullptr};
    std::atomic<hg_proc_cb_t> out_proc{nullptr};
    std::atomic<hg_rpc_cb_t> handler{nullptr};
    std::atomic<hg_core_rpc_cb_t> core_handler{nullptr};  // used instead if HG_Core registered the id
    std::atomic<bool> one_way{false};
    std::atomic<void*> data{nullptr};
    void (*data_free)(void*) = nullptr;  // guarded by the class's mutex

    Registration() = default;
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { free_data(); }
    void free_data() noexcept;
};

struct Callbacks {
    hg_proc_cb_t in_proc = nullptr;
    hg_proc_cb_t out_proc = nullptr;
    hg_rpc_cb_t handler = nullptr;
    hg_core_rpc_cb_t core_handler = nullptr;
};
// Registers an id or replaces its callbacks. A request sees either the old or the new ones.
[[nodiscard]] hg_return_t register_id(hg_class& owner, hg_id_t id, const Callbacks& callbacks) noexcept;

// Null if the id is not registered.
[[nodiscard]] Registration* find(const hg_class& owner, hg_id_t id) noexcept;

// The engine's handler for every registration: makes a handle and runs the user's handler.
void run_handler(rpc::Request& request, void* registration) noexcept;

}  // namespace cinnabar::mercury
