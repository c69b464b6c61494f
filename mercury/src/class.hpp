// SPDX-License-Identifier: BSD-3-Clause
// An HG class: an engine over a network, its options, and counts of the objects that must be freed before HG_Finalize.
#pragma once

#include "counters.hpp"
#include "mercury.h"
#include "na_class.hpp"

#include <cinnabar/rpc/engine.hpp>

#include <atomic>
#include <condition_variable>
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
    std::size_t input_eager = 0;  // bytes that fit into a message
    std::size_t output_eager = 0;

    hg_size_t in_offset = 0;
    hg_size_t out_offset = 0;
    void* data = nullptr;
    void (*data_free)(void*) = nullptr;
    hg_return_t (*handle_created)(hg_handle_t, void*) = nullptr;
    void* handle_created_arg = nullptr;
    hg_return_t (*more_acquire)(hg_core_handle_t, hg_op_t, void (*done)(hg_core_handle_t, hg_return_t)) = nullptr;
    void (*more_release)(hg_core_handle_t) = nullptr;

    std::mutex mutex;                      // of `names`
    std::map<hg_id_t, std::string> names;  // of RPCs registered by name

    // The serialized bulk handles of this class, by the secrets in their descriptions: if the class decodes such a
    // description, the class recognises its own memory.
    std::mutex described_mutex;
    std::unordered_map<std::uint64_t, hg_bulk*> described;
    std::condition_variable original_left;  // signalled when the last Original of a handle is gone
    // Memory that a peer may still use although its handle was freed. Guarded by `contexts_mutex`.
    std::vector<std::unique_ptr<cinnabar::mercury::Lending>> quarantine;
    std::mutex contexts_mutex;
    std::vector<hg_context*> open_contexts;

    std::atomic<int> contexts{0};
    std::atomic<int> addrs{0};
    std::atomic<int> bulks{0};
    cinnabar::mercury::Counters counters;
    mutable std::mutex counted_mutex;
    std::vector<hg_context*> counted;             // contexts; their handles hold the counts
    cinnabar::mercury::Tallies counted_before{};  // counts of contexts that are gone

    [[nodiscard]] hg_diag_counters read_counters() const;

    // The address of this class. If the class does not listen, only the class itself can use the address.
    [[nodiscard]] cinnabar::na::Addr self() const { return engine->self_addr(); }
    // The address by which peers know this class, not that of the loopback.
    [[nodiscard]] cinnabar::na::Addr known_as(cinnabar::na::ContextId context) const;
    // Whether `addr` is this class, by its own address or as peers know it.
    [[nodiscard]] bool is_me(const cinnabar::na::Addr& addr) const;
};

// An address that was handed out, or the one inside a handle.
struct hg_addr : na_addr {
    hg_class* owner = nullptr;
};

namespace cinnabar::mercury {

// Makes an address that the user frees.
[[nodiscard]] hg_return_t hand_out(hg_class& owner, na::Addr made, hg_addr_t* out) noexcept;
// HG_INVALID_ARG: not an address; HG_PROTONOSUPPORT: no network of the class reaches it.
[[nodiscard]] hg_return_t look_up(const hg_class& owner, const char* name, na::Addr& out) noexcept;

}  // namespace cinnabar::mercury
