// SPDX-License-Identifier: BSD-3-Clause
// The implementation of rpc::Context: all its parts. Parts that are not on the fast path do not include this header;
// their constructors name the parts that they need. Owner of the context only (na/context.hpp), unless a function says
// "any thread".
#pragma once

#include "access.hpp"
#include "call_fences.hpp"
#include "context_base.hpp"
#include "control.hpp"
#include "credit_pool.hpp"
#include "deadlines.hpp"
#include "far_moves.hpp"
#include "fences.hpp"
#include "frame.hpp"
#include "large_memory.hpp"
#include "large_values.hpp"
#include "notices.hpp"
#include "origin.hpp"
#include "part_of.hpp"
#include "peer_book.hpp"
#include "peers.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "serving.hpp"
#include "slow_readers.hpp"
#include "target.hpp"

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace cinnabar::rpc {

class ContextCore final : public ContextBase, public na::Receiver {
  public:
    ContextCore(Engine& engine, const Options& options);
    ~ContextCore();
    [[nodiscard]] Result<void> open();
    void close() noexcept;

    [[nodiscard]] static ContextCore& of(const Call& call) noexcept { return *call.core_; }
    [[nodiscard]] static ContextCore& of(const Request& request) noexcept { return *request.core_; }
    [[nodiscard]] static ContextCore& of(const PeerBook& book) noexcept {
        return static_cast<ContextCore&>(*book.base);
    }

    // Snapshots for people (snapshot.cpp).
    class Snapshots;

    void on_unexpected(na::Arrival& arrival) noexcept override { target.on_unexpected(arrival); }
    void on_expected(na::Arrival& arrival) noexcept override { replies.on_expected(arrival); }
    void on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept override {
        origin.on_delayed(peer, kind, tag, message);
    }
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override;
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override { peers.on_peer(peer, event, why); }

    // The transport that lends far memory; null: not available.
    [[nodiscard]] std::shared_ptr<na::Transport> far_lender() noexcept;
    // The encoded address at which others reach this process on that port's transport; empty if it does not listen.
    [[nodiscard]] ConstBytes home_of(const na::Port& port) const noexcept;

    // As origin.
    Origin origin;
    Deadlines deadlines{*this, origin};
    SendQueue queue{*this, origin, replies, control, peers};
    Replies replies{*this};
    CallFences call_fences{*this, origin, target, large_values, fences};

    // As target.
    Target target;
    Serving serving;
    CreditPool credits;
    SlowReaders slow_readers{*this, target, credits, peers, control};
    Access access;

    // As either.
    Peers peers{*this,
                {.origin = origin,
                 .call_fences = call_fences,
                 .queue = queue,
                 .replies = replies,
                 .target = target,
                 .serving = serving,
                 .credits = credits,
                 .control = control,
                 .large_values = large_values,
                 .fences = fences}};
    Control control{*this,
                    {.origin = origin,
                     .call_fences = call_fences,
                     .target = target,
                     .credits = credits,
                     .queue = queue,
                     .large_values = large_values,
                     .peers = peers}};
    LargeMemory large_memory;
    LargeValues large_values{*this,
                             {.origin = origin,
                              .deadlines = deadlines,
                              .queue = queue,
                              .replies = replies,
                              .target = target,
                              .serving = serving,
                              .credits = credits,
                              .access = access,
                              .control = control,
                              .large_memory = large_memory,
                              .fences = fences}};
    Fences fences;  // of calls and of large results
    FarMoves far_moves{*this, origin};
    Notices notices;

    // Whether something outlives close(): requests that handlers hold, calls that were not released, fences in
    // progress.
    [[nodiscard]] bool held() const noexcept {
        return target.taken() != 0 || origin.calls.taken() != 0 || fences.in_progress() != 0;
    }

  private:
    // Sends what was accepted before the context closes (drain_on_close.cpp).
    class DrainOnClose;
    void let_leave() noexcept;

    void share_slots(std::uint32_t slots) noexcept;
    void note_homes();
    void cancel_calls(bool one_way) noexcept;
    void drop_replies() noexcept;
    void drop_messages() noexcept;

    std::vector<std::vector<std::byte>> homes_;  // of each transport, for home_of()
};

template <typename Part, typename Object>
Part& part_of(const Object& object) noexcept {
    ContextCore& core = ContextCore::of(object);
    if constexpr (std::is_same_v<Part, Origin>) {
        return core.origin;
    } else if constexpr (std::is_same_v<Part, CallFences>) {
        return core.call_fences;
    } else if constexpr (std::is_same_v<Part, Serving>) {
        return core.serving;
    } else if constexpr (std::is_same_v<Part, SendQueue>) {
        return core.queue;
    } else if constexpr (std::is_same_v<Part, CreditPool>) {
        return core.credits;
    } else if constexpr (std::is_same_v<Part, Peers>) {
        return core.peers;
    } else if constexpr (std::is_same_v<Part, Control>) {
        return core.control;
    } else if constexpr (std::is_same_v<Part, LargeValues>) {
        return core.large_values;
    } else {
        static_assert(std::is_same_v<Part, ContextBase>);
        return core;
    }
}

}  // namespace cinnabar::rpc
