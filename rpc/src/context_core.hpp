// SPDX-License-Identifier: BSD-3-Clause
// The implementation of rpc::Context: its parts, and how they reach each other. Owner of the context only
// (na/context.hpp), unless a function says "any thread".
#pragma once

#include "access.hpp"
#include "control.hpp"
#include "credit_pool.hpp"
#include "deadlines.hpp"
#include "far_moves.hpp"
#include "fences.hpp"
#include "frame.hpp"
#include "large_values.hpp"
#include "notices.hpp"
#include "origin.hpp"
#include "overflow.hpp"
#include "peer_book.hpp"
#include "peers.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "serving.hpp"
#include "slow_readers.hpp"
#include "target.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::rpc {

class ContextCore final : public na::Receiver {
  public:
    ContextCore(Engine& engine, const Options& options);
    ~ContextCore();
    [[nodiscard]] Result<void> open();
    void close() noexcept;
    void deliver_all() noexcept;

    [[nodiscard]] static ContextCore& of(const Call& call) noexcept { return *call.core_; }
    [[nodiscard]] static ContextCore& of(const Request& request) noexcept { return *request.core_; }
    [[nodiscard]] static ContextCore& of(const PeerBook& book) noexcept { return *book.core; }

    // Snapshots for people (snapshot.cpp).
    class Snapshots;

    void on_unexpected(na::Arrival& arrival) noexcept override { target.on_unexpected(arrival); }
    void on_expected(na::Arrival& arrival) noexcept override { replies.on_expected(arrival); }
    void on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept override {
        origin.on_delayed(peer, kind, tag, message);
    }
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override;
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override { peers.on_peer(peer, event, why); }

    // Any thread: calls `function` as the owner of the context.
    template <typename F>
    void owned(F&& function) noexcept {
        if (closed_) {
            const std::lock_guard lock(after_close());
            return function();
        }
        const na::Context::Ownership ownership(*na);
        function();
    }
    // A closed context has no owner: threads that still release requests use this lock instead. It outlives the core,
    // which may be destroyed while the lock is held.
    [[nodiscard]] static std::recursive_mutex& after_close() noexcept;
    // Runs `work` as the owner, at once if possible; after close(), in this call. Any thread.
    void run_owned(Work& work) noexcept {
        if (closed_) [[unlikely]]
            return run_closed(work);
        na->run_owned(work);
    }
    [[gnu::noinline]] static void run_closed(Work& work) noexcept {
        const std::lock_guard lock(after_close());
        work.run(work);
    }
    // As run_owned(), for threads that drive another context: only queues `work`, but after close() runs it in this
    // call.
    void hand_over(Work& work) noexcept {
        if (closed_) return run_closed(work);
        na->submit(work);
    }
    [[nodiscard]] const std::shared_ptr<na::Transport>& transport_of(const na::Port& port) const noexcept;
    // The transport that lends far memory; null: not available.
    [[nodiscard]] std::shared_ptr<na::Transport> far_lender() noexcept;
    // The encoded address at which others reach this process on that port's transport; empty if it does not listen.
    [[nodiscard]] ConstBytes home_of(const na::Port& port) const noexcept;

    Engine& engine;
    Context* facade = nullptr;
    const Options options;
    // Flags of every frame.
    const std::uint16_t frame_flags = options.checksums ? flag_checksum : std::uint16_t{0};
    std::unique_ptr<na::Context> na;
    na::Port* only_port = nullptr;  // null if there are several ports
    std::unique_ptr<bulk::Mover> mover;
    // This many slots of calls, and of requests, retain their message for the next use; all retain their address.
    const std::uint32_t messages_retained;
    bool closing_ = false;  // no new calls
    bool closed_ = false;

    // As origin.
    Origin origin;
    Deadlines deadlines{*this};
    SendQueue queue{*this};
    Replies replies{*this};

    // As target.
    Target target;
    Serving serving;
    CreditPool credits;
    SlowReaders slow_readers{*this};
    Access access;

    // As either.
    Peers peers{*this};
    Control control{*this};
    Overflow overflow;
    LargeValues large{*this};
    Fences fences;  // of calls and of large results
    FarMoves far_moves{*this};
    Notices notices;

    // Whether something outlives close(): requests that handlers hold, calls that were not released, fences in
    // progress.
    [[nodiscard]] bool held() const noexcept {
        return target.taken() != 0 || origin.calls.taken() != 0 || fences.in_progress() != 0;
    }
    void go_if_over() noexcept {
        if (closed_ && !held()) keep_alive.reset();
    }
    std::shared_ptr<ContextCore> keep_alive;  // set while a closed core is held

  private:
    // Sends what was accepted before the context closes (farewell.cpp).
    class Farewell;
    void let_leave() noexcept;

    void share_slots(std::uint32_t slots) noexcept;
    void note_homes();
    void cancel_calls(bool one_way) noexcept;
    void drop_replies() noexcept;
    void drop_messages() noexcept;

    std::vector<std::vector<std::byte>> homes_;  // of each transport, for home_of()
};

template <typename F>
struct OneArgument;
template <typename Part, typename Object>
struct OneArgument<void (Part::*)(Object&) noexcept> {
    using Type = Object;
};

// A function for a Work, Timer or na::Op whose `user` is a call, a request or the book of a peer. Finds the core of
// that object, and passes the object to the member function `Function` of its part `Part`.
template <auto Part, auto Function>
inline constexpr auto bind = [](auto& from) noexcept {
    auto& object = *static_cast<typename OneArgument<decltype(Function)>::Type*>(from.user);
    ((ContextCore::of(object).*Part).*Function)(object);
};

inline bool SendQueue::has_room(std::size_t bytes) const noexcept {
    return bytes_ + bytes <= core_.options.queued_bytes_max;
}

inline void Deadlines::forget(Call& call) noexcept {
    if (call.deadline_link_.linked) return calls_.remove(call);
    if (call.whole_way_) core_.na->disarm(call.timer_);
}

inline std::uint16_t CreditPool::for_reply(PeerBook& book) noexcept {
    Credits& account = book.account;
    if (!account.may_give()) return 0;
    if (account.hungry()) grow(book);
    const std::uint16_t given = account.give();
    if (account.starved.armed() && given != 0) core_.na->disarm(account.starved);
    return given;
}

inline void Serving::return_slot(Request& request) noexcept {
    if (request.holds_slot()) {
        if (!core_.closed_) request.kept_.port->release(request.kept_);
        request.kept_ = {};
    }
    if (!request.use_.credit_returned) core_.credits.come_back(request);
}

}  // namespace cinnabar::rpc
