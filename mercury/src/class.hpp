// SPDX-License-Identifier: BSD-3-Clause
// An HG class: an engine over a network, its options, and what must be gone before it can be finalized.
#pragma once

#include "counters.hpp"
#include "mercury.h"
#include "na_class.hpp"

#include <cinnabar/rpc/engine.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace cinnabar::mercury {
struct Lending;  // bulk.hpp
}

struct hg_class {
    na_class* network = nullptr;
    bool owns_network = false;
    hg_init_info options{};
    std::unique_ptr<cinnabar::rpc::Engine> engine;

    hg_size_t in_offset = 0;
    hg_size_t out_offset = 0;
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;
    hg_return_t (*handle_created)(hg_handle_t, void*) = nullptr;
    void* handle_created_arg = nullptr;
    hg_return_t (*more_acquire)(hg_core_handle_t, hg_op_t, void (*done)(hg_core_handle_t, hg_return_t)) = nullptr;
    void (*more_release)(hg_core_handle_t) = nullptr;

    std::mutex mutex;                      // of `names`
    std::map<hg_id_t, std::string> names;  // of those registered by name

    // Own bulk handles that were described, by their secret: a description that comes back is the memory itself.
    std::mutex described_mutex;
    std::unordered_map<std::uint64_t, hg_bulk*> described;
    // Memory that a peer may still use although its handle is gone. With `contexts_mutex`.
    std::vector<std::unique_ptr<cinnabar::mercury::Lending>> quarantine;
    std::mutex contexts_mutex;
    std::vector<hg_context*> open_contexts;

    std::atomic<int> contexts{0};
    std::atomic<int> addrs{0};
    std::atomic<int> bulks{0};
    cinnabar::mercury::Counters counters;

    // Where this class is called; a class that does not listen reaches itself only.
    [[nodiscard]] cinnabar::na::Addr self() const { return engine->self_addr(); }
    // Its address as peers know it: not the loopback's.
    [[nodiscard]] cinnabar::na::Addr known_as(cinnabar::na::ContextId context) const;
    // Whether it is the address of one's own class, also as a peer knows it.
    [[nodiscard]] bool is_me(const cinnabar::na::Addr& addr) const;
};

// One that was handed out, or that a handle has within.
struct hg_addr : na_addr {
    hg_class* owner = nullptr;
};

namespace cinnabar::mercury {

// A new address for the user to free.
[[nodiscard]] hg_return_t hand_out(hg_class& owner, na::Addr made, hg_addr_t* out) noexcept;
// HG_INVALID_ARG: not an address; HG_PROTONOSUPPORT: no network of the class reaches it.
[[nodiscard]] hg_return_t look_up(const hg_class& owner, const char* name, na::Addr& out) noexcept;

}  // namespace cinnabar::mercury
